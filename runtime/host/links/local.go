package links

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Local are the devices of the running machine, by rtnetlink (rtnetlink(7)).
type Local struct{}

// List is Devices.List.
func (Local) List(ctx context.Context) ([]Link, error) {
	found, err := listLinks(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Link, len(found))
	for i, f := range found {
		out[i] = f.Link
	}
	return out, nil
}

// indexedLink is a device with the number by which the kernel knows it.
type indexedLink struct {
	Link
	index int32
}

// listLinks asks for all devices, and for all addresses.
func listLinks(ctx context.Context) ([]indexedLink, error) {
	messages, err := dump(ctx, unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC))
	if err != nil {
		return nil, err
	}
	var found []indexedLink
	masters := map[int]int32{}
	for _, m := range messages {
		l, master, err := parseLink(m)
		if err != nil {
			return nil, err
		}
		masters[len(found)] = master
		found = append(found, l)
	}
	for i, master := range masters {
		at := slices.IndexFunc(found, func(l indexedLink) bool { return l.index == master })
		found[i].Master = new("")
		if at >= 0 && master != 0 {
			found[i].Master = new(found[at].Name)
		}
	}
	slices.SortFunc(found, func(a, b indexedLink) int { return int(a.index - b.index) })
	return found, addAddresses(ctx, found)
}

// dump asks the kernel for all of something. A dump that a change has interrupted is
// asked for again.
func dump(ctx context.Context, ask int, answer uint16, head nl.NetlinkRequestData) ([][]byte, error) {
	for {
		request := nl.NewNetlinkRequest(ask, unix.NLM_F_DUMP)
		request.AddData(head)
		messages, err := request.Execute(unix.NETLINK_ROUTE, answer)
		if !errors.Is(err, nl.ErrDumpInterrupted) {
			return messages, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

func parseLink(message []byte) (l indexedLink, master int32, err error) {
	head := nl.DeserializeIfInfomsg(message)
	attributes, err := nl.ParseRouteAttrAsMap(message[head.Len():])
	if err != nil {
		return l, 0, err
	}
	l.index, l.Up = head.Index, new(head.Flags&unix.IFF_UP != 0)
	l.Name = cstring(attributes[unix.IFLA_IFNAME].Value)
	l.MTU = new(int(number32(attributes[unix.IFLA_MTU].Value)))
	if mac := attributes[unix.IFLA_ADDRESS].Value; len(mac) == 6 {
		l.MAC = net.HardwareAddr(mac).String()
	}
	info, given := attributes[unix.IFLA_LINKINFO]
	if !given {
		return l, int32(number32(attributes[unix.IFLA_MASTER].Value)), nil
	}
	parts, err := nl.ParseRouteAttrAsMap(info.Value)
	if err != nil {
		return l, 0, err
	}
	l.Kind = cstring(parts[nl.IFLA_INFO_KIND].Value)
	data, err := nl.ParseRouteAttrAsMap(parts[nl.IFLA_INFO_DATA].Value)
	if err != nil {
		return l, 0, err
	}
	l.Options = decodeOptions(l.Kind, data)
	return l, int32(number32(attributes[unix.IFLA_MASTER].Value)), nil
}

// Add is Devices.Add. A device that cannot get all that it is to have is taken away
// again.
func (ls Local) Add(ctx context.Context, l Link) error {
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
	if err := setLink(ctx, request, 0, l); err != nil {
		return &Error{"add", l.Name, err}
	}
	if err := execute(request, l.Kind); err != nil {
		return &Error{"add", l.Name, err}
	}
	if l.Addresses == nil {
		return nil
	}
	if err := ls.Change(ctx, l, Link{Addresses: l.Addresses}); err != nil {
		return errors.Join(err, ls.Delete(ctx, l.Name))
	}
	return nil
}

// Change is Devices.Change.
func (Local) Change(ctx context.Context, have, want Link) error {
	if err := change(ctx, have.Name, want); err != nil {
		return &Error{"change", have.Name, err}
	}
	return nil
}

func change(ctx context.Context, name string, want Link) error {
	found, err := lookUp(ctx, name)
	if err != nil {
		return err
	}
	if len(want.Options) > 0 {
		if err := changeOptions(found, want.Options); err != nil {
			return err
		}
		want.Options = nil
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	want.Name, want.Kind = "", ""
	if err := setLink(ctx, request, found.index, want); err != nil {
		return err
	}
	if err := execute(request, found.Kind); err != nil || want.Addresses == nil {
		return err
	}
	return setAddresses(ctx, name, want.Addresses)
}

// changeOptions sets what a kind has of its own. A CAN device takes that only while
// it is down; a tunnel takes all of it at once.
func changeOptions(found indexedLink, options map[string]string) error {
	for k, v := range found.Options {
		if _, given := options[k]; !given && isTunnel(found.Kind) {
			options[k] = v
		}
	}
	pause := found.Kind == "can" && *found.Up
	if pause {
		if err := setUp(found, false); err != nil {
			return err
		}
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	request.AddData(newHead(found.index))
	info, err := linkInfo(found.Kind, options)
	if err == nil {
		request.AddData(info)
		err = execute(request, found.Kind)
	}
	if pause {
		err = errors.Join(err, setUp(found, true))
	}
	return err
}

func setUp(l indexedLink, up bool) error {
	head := newHead(l.index)
	head.Change, head.Flags = unix.IFF_UP, 0
	if up {
		head.Flags = unix.IFF_UP
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	request.AddData(head)
	return execute(request, l.Kind)
}

func newHead(index int32) *nl.IfInfomsg {
	head := nl.NewIfInfomsg(unix.AF_UNSPEC)
	head.Index = index
	return head
}

// Delete is Devices.Delete.
func (Local) Delete(ctx context.Context, name string) error {
	found, err := lookUp(ctx, name)
	if err == nil && (found.Kind == "" || found.Kind == "can") {
		err = errRealLink
	}
	if err == nil {
		request := nl.NewNetlinkRequest(unix.RTM_DELLINK, unix.NLM_F_ACK)
		request.AddData(newHead(found.index))
		err = execute(request, found.Kind)
	}
	if err != nil {
		return &Error{"delete", name, err}
	}
	return nil
}

func lookUp(ctx context.Context, name string) (indexedLink, error) {
	list, err := listLinks(ctx)
	if err != nil {
		return indexedLink{}, err
	}
	i := slices.IndexFunc(list, func(l indexedLink) bool { return l.Name == name })
	if i < 0 {
		return indexedLink{}, noSuchLink()
	}
	return list[i], nil
}

// setLink puts what a wish says into a request, addresses apart.
func setLink(ctx context.Context, request *nl.NetlinkRequest, index int32, l Link) error {
	head := newHead(index)
	request.AddData(head)
	if l.Up != nil {
		head.Change = unix.IFF_UP
		if *l.Up {
			head.Flags = unix.IFF_UP
		}
	}
	if l.Name != "" {
		request.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(l.Name)))
	}
	if l.MTU != nil {
		request.AddData(nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(*l.MTU))))
	}
	if l.MAC != "" {
		mac, err := net.ParseMAC(l.MAC)
		if err != nil {
			return err
		}
		request.AddData(nl.NewRtAttr(unix.IFLA_ADDRESS, mac))
	}
	if l.Master != nil {
		var master indexedLink
		if *l.Master != "" {
			var err error
			if master, err = lookUp(ctx, *l.Master); err != nil || master.Kind != "bridge" {
				return noSuchMaster(*l.Master)
			}
		}
		request.AddData(nl.NewRtAttr(unix.IFLA_MASTER, nl.Uint32Attr(uint32(master.index))))
	}
	if l.Kind == "" {
		return nil
	}
	info, err := linkInfo(l.Kind, l.Options)
	request.AddData(info)
	return err
}

// execute asks the kernel to do something, and says in words what it refuses.
func execute(request *nl.NetlinkRequest, kind string) error {
	_, err := request.Execute(unix.NETLINK_ROUTE, 0)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("this needs the right to set up networks (root, or CAP_NET_ADMIN): %w", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		if request.Flags&unix.NLM_F_CREATE != 0 {
			return noSuchKind(kind)
		}
		return unable("neither the kernel nor the device can do that: " + err.Error())
	case errors.Is(err, unix.EEXIST):
		return linkExists()
	case errors.Is(err, unix.ENODEV):
		return noSuchLink()
	}
	return err
}

// cstring is a text that ends with a NUL byte.
func cstring(value []byte) string { return string(bytes.TrimRight(value, "\x00")) }

func number32(value []byte) uint32 {
	if len(value) != 4 {
		return 0
	}
	return nl.NativeEndian().Uint32(value)
}
