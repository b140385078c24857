// Package rc2 holds what a device and a workload fleet manager of Margo say to each other in version 1.0.0-rc.2 of the workload
// management API: types, how they are read and written, and what the specification says of them alone. Another version is another
// package.
//
// What is published contradicts itself in places, and here is mended (schema.json):
//
//   - The required names of a manifest are written with dots (bundle.digest): here they are required of the bundle, where there is one.
//   - metadata.annotations is required of a deployment, and defined nowhere: it is not.
//   - The id of a deployment is optional in the API and required in the text, which says that it is the deploymentId: it is required.
//   - manifestVersion is a number: here a whole one from 1 to 2^64-1, as the text says.
//   - The types of problems stand below two addresses: both are known.
//
// All of it comes from outside. Whatever is read has a limit of size, depth and number, and is checked against the schema before
// anything is made of it.
package rc2
