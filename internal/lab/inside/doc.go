// Package inside holds tests that are carried out on a host of the lab itself: the
// lab's own tests build them, with the tag "inside", and start them there. They
// change the machine that they run on.
package inside
