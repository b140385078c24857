package expr

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func networkFunctions() []Function {
	return withGroup("network", []Function{
		{"cidrcontains", "", "whether a network holds an address or another network", cidrContains()},
		{"cidrhost", "", "the address of a number in a network; negative numbers count from its end", cidrHost()},
		{"cidrnetmask", "", "the netmask of an IPv4 network", cidrNetmask()},
		{"cidrsubnet", "", "the network of a number after adding bits to a prefix", cidrSubnet()},
		{"cidrsubnets", "", "networks one after the other, each with its own added bits", cidrSubnets()},
	})
}

// network makes a function whose first parameter is a network, in which bits
// behind the prefix are dropped.
func network(params []function.Parameter, rest *function.Parameter, result cty.Type, f func(netip.Prefix, []cty.Value) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params:   append([]function.Parameter{{Name: "prefix", Type: cty.String}}, params...),
		VarParam: rest,
		Type:     function.StaticReturnType(result),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := netip.ParsePrefix(args[0].AsString())
			if err != nil {
				return cty.UnknownVal(result), function.NewArgErrorf(0, "%q is no network such as 10.0.0.0/8", args[0].AsString())
			}
			v, err := f(p.Masked(), args[1:])
			if err != nil {
				return cty.UnknownVal(result), err
			}
			return v, nil
		},
	})
}

func cidrContains() function.Function {
	params := []function.Parameter{{Name: "address", Type: cty.String}}
	return network(params, nil, cty.Bool, func(p netip.Prefix, args []cty.Value) (cty.Value, error) {
		text := args[0].AsString()
		if inner, err := netip.ParsePrefix(text); err == nil {
			return cty.BoolVal(inner.Bits() >= p.Bits() && p.Contains(inner.Addr())), nil
		}
		a, err := netip.ParseAddr(text)
		if err != nil {
			return cty.False, function.NewArgErrorf(1, "%q is neither an address nor a network", text)
		}
		return cty.BoolVal(p.Contains(a)), nil
	})
}

func cidrHost() function.Function {
	params := []function.Parameter{{Name: "hostnum", Type: cty.Number}}
	return network(params, nil, cty.String, func(p netip.Prefix, args []cty.Value) (cty.Value, error) {
		number, accuracy := args[0].AsBigFloat().Int(nil)
		if accuracy != big.Exact {
			return cty.NilVal, function.NewArgErrorf(1, "a whole number is required")
		}
		size := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
		offset := new(big.Int).Set(number)
		if number.Sign() < 0 {
			offset.Add(size, number)
		}
		if offset.Sign() < 0 || offset.Cmp(size) >= 0 {
			return cty.NilVal, fmt.Errorf("%s holds no address number %s", p, number)
		}
		return cty.StringVal(addressAt(p.Addr(), offset).String()), nil
	})
}

func cidrNetmask() function.Function {
	return network(nil, nil, cty.String, func(p netip.Prefix, _ []cty.Value) (cty.Value, error) {
		if !p.Addr().Is4() {
			return cty.NilVal, errors.New("only IPv4 networks have a netmask")
		}
		all := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), p.Bits()).Masked()
		return cty.StringVal(all.Addr().String()), nil
	})
}

func cidrSubnet() function.Function {
	params := []function.Parameter{{Name: "newbits", Type: cty.Number}, {Name: "netnum", Type: cty.Number}}
	return network(params, nil, cty.String, func(p netip.Prefix, args []cty.Value) (cty.Value, error) {
		bits, err := prefixLength(p, args[0])
		if err != nil {
			return cty.NilVal, err
		}
		number, accuracy := args[1].AsBigFloat().Int(nil)
		if accuracy != big.Exact || number.Sign() < 0 || number.BitLen() > bits-p.Bits() {
			return cty.NilVal, fmt.Errorf("%s has no network number %s with %d more bits", p, args[1].AsBigFloat().Text('f', -1), bits-p.Bits())
		}
		offset := number.Lsh(number, uint(p.Addr().BitLen()-bits))
		return cty.StringVal(netip.PrefixFrom(addressAt(p.Addr(), offset), bits).String()), nil
	})
}

func cidrSubnets() function.Function {
	rest := &function.Parameter{Name: "newbits", Type: cty.Number}
	return network(nil, rest, cty.List(cty.String), func(p netip.Prefix, args []cty.Value) (cty.Value, error) {
		if len(args) == 0 {
			return cty.ListValEmpty(cty.String), nil
		}
		var out []cty.Value
		next := new(big.Int) // offset of the first free address
		end := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
		for _, arg := range args {
			bits, err := prefixLength(p, arg)
			if err != nil {
				return cty.NilVal, err
			}
			size := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-bits))
			next.Add(next, size).Sub(next, big.NewInt(1)).Div(next, size).Mul(next, size)
			if new(big.Int).Add(next, size).Cmp(end) > 0 {
				return cty.NilVal, fmt.Errorf("%s has no room for network number %d", p, len(out)+1)
			}
			out = append(out, cty.StringVal(netip.PrefixFrom(addressAt(p.Addr(), next), bits).String()))
			next.Add(next, size)
		}
		return cty.ListVal(out), nil
	})
}

// prefixLength adds bits to a network's prefix.
func prefixLength(p netip.Prefix, more cty.Value) (int, error) {
	n, ok := intFrom(more)
	if !ok || n < 0 || n > p.Addr().BitLen()-p.Bits() {
		return 0, fmt.Errorf("%s has no room for %s more bits of prefix", p, more.AsBigFloat().Text('f', -1))
	}
	return p.Bits() + n, nil
}

// addressAt adds an offset, which stays within the network, to its address.
func addressAt(base netip.Addr, offset *big.Int) netip.Addr {
	raw := base.AsSlice()
	sum := new(big.Int).Add(new(big.Int).SetBytes(raw), offset)
	a, _ := netip.AddrFromSlice(sum.FillBytes(raw))
	return a
}
