package cli

import "strings"

// SiteIdentity is a file with a private key that opens secrets of a site; of all sites, where none is named.
type SiteIdentity struct{ Site, File string }

// UnmarshalText reads SITE=FILE, or FILE. A file whose name looks like the former is named with its folder: ./a=b.
func (i *SiteIdentity) UnmarshalText(text []byte) error {
	site, file, ok := strings.Cut(string(text), "=")
	if !ok || site == "" || strings.Contains(site, "/") {
		site, file = "", string(text)
	}
	*i = SiteIdentity{site, file}
	return nil
}

// String writes it as UnmarshalText reads it.
func (i SiteIdentity) String() string {
	if i.Site == "" {
		return i.File
	}
	return i.Site + "=" + i.File
}
