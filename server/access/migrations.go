package access

import "github.com/tenetcm/tenet/server/store"

// Migrations are the tables of this package.
func Migrations() []store.Migration {
	return []store.Migration{{Name: "audit", SQL: `
		CREATE TABLE access_audit (
			n      BIGINT NOT NULL PRIMARY KEY,
			at     BIGINT NOT NULL,
			actor  TEXT NOT NULL,
			action TEXT NOT NULL,
			host   TEXT NOT NULL,
			site   TEXT NOT NULL,
			reason TEXT NOT NULL,
			detail TEXT NOT NULL,
			digest TEXT NOT NULL
		) STRICT;
		CREATE TABLE access_audit_head (
			one    BIGINT NOT NULL PRIMARY KEY,
			n      BIGINT NOT NULL,
			digest TEXT NOT NULL
		) STRICT;`},
		{Name: "people", SQL: `
		CREATE TABLE access_people (
			name       TEXT NOT NULL PRIMARY KEY,
			password   TEXT NOT NULL,
			issuer     TEXT NOT NULL,
			subject    TEXT NOT NULL,
			membership TEXT NOT NULL,
			roles      TEXT NOT NULL,
			grants     TEXT NOT NULL,
			made       BIGINT NOT NULL,
			login      BIGINT,
			removed    BIGINT NOT NULL
		) STRICT;
		CREATE INDEX access_people_subject ON access_people (subject, issuer);
		CREATE TABLE access_roles (
			name       TEXT NOT NULL PRIMARY KEY,
			membership TEXT NOT NULL,
			grants     TEXT NOT NULL
		) STRICT;`},
		{Name: "sessions and programs", SQL: `
		CREATE TABLE access_sessions (
			digest BYTES NOT NULL PRIMARY KEY,
			id     TEXT NOT NULL UNIQUE,
			person TEXT NOT NULL REFERENCES access_people (name),
			origin TEXT NOT NULL,
			made   BIGINT NOT NULL,
			used   BIGINT NOT NULL,
			expiry BIGINT NOT NULL
		) STRICT;
		CREATE INDEX access_sessions_person ON access_sessions (person);
		CREATE TABLE access_programs (
			digest BYTES NOT NULL PRIMARY KEY,
			id     TEXT NOT NULL UNIQUE,
			name   TEXT NOT NULL UNIQUE,
			person TEXT NOT NULL REFERENCES access_people (name),
			grants TEXT NOT NULL,
			made   BIGINT NOT NULL,
			used   BIGINT,
			expiry BIGINT NOT NULL
		) STRICT;`},
	}
}
