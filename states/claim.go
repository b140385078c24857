package states

// Claim is one thing that a part holds to be so on its host, beside the attributes of
// its own resource. Two parts of different types or keys may claim the contrary: that is
// found when a site is compiled, as it is for two parts on one resource.
//
// A claim is a pair of a relation, such as alice and adm of "is in the group".
type Claim struct {
	Relation string // one word or more, the same in all modules that claim it
	Of, Is   string // the pair; an empty Is: there is none, and OnlyOf or OnlyIs say so
	// OnlyOf: Of has this Is and those of the part's other claims, and no others.
	OnlyOf bool
	// OnlyIs: Is belongs to this Of and those of the part's other claims, and to no others.
	OnlyIs bool
	// Within: it is enough that Is is within a text that another part claims.
	Within bool
	// Holds tells, where Within is, whether a text that another part claims holds it, if
	// that is more than Is in it.
	Holds func(text string) bool
	// Says is the claim in words that hold no value which may be secret: "One part
	// says ..."
	Says string
}
