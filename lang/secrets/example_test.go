package secrets_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"filippo.io/age"

	"github.com/tenetcm/tenet/lang/secrets"
)

// A file is made for those who may read it; setting a value needs no key.
func ExampleParse() {
	key, err := age.GenerateX25519Identity() // as age-keygen does
	if err != nil {
		log.Fatal(err)
	}
	recipients, list := secrets.ParseRecipients("secrets.recipients", []byte(key.Recipient().String()))
	if err := list.Err(); err != nil {
		log.Fatal(err)
	}
	made, err := secrets.New("secrets.age", recipients)
	if err != nil {
		log.Fatal(err)
	}
	if err := made.Set("db", "hunter2"); err != nil {
		log.Fatal(err)
	}

	file, list := secrets.Parse("secrets.age", made.Bytes())
	if err := list.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Names())
	id, err := secrets.ParseIdentity(secrets.IdentityFile{Name: "key.txt", Data: []byte(key.String())})
	if err != nil {
		log.Fatal(err)
	}
	opened, err := file.Open([]secrets.Identity{id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(opened.Value("db"))
	// Output:
	// [db]
	// hunter2 <nil>
}

// A Store gives a site's secrets to lang.Target.
func ExampleStore_Check() {
	store := &secrets.Store{Site: fstest.MapFS{"secrets.age": {Data: []byte("# tenet.secrets/1: example\n")}}}
	_, err := store.Check("db") // needs no key; store.Value gives the value
	fmt.Println(err)
	// Output:
	// secrets.age:1:1: secrets.age has no line @recipient (take the line from the history of the repository)
	// secrets.age:1:1: secrets.age has no line @key (take the line from the history of the repository)
}
