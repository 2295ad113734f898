// Asks the function of docs/guides/webhooks.md, which is package legwork here, about deliveries: a JSON
// array of them on standard input, an array of verdicts on standard output.
package main

import (
	"encoding/json"
	"os"
	"time"

	"receive/legwork"
)

type delivery struct {
	Secret    string
	Timestamp string
	Signature string
	Body      []byte
	Now       *int64
}

func main() {
	var deliveries []delivery
	if err := json.NewDecoder(os.Stdin).Decode(&deliveries); err != nil {
		panic(err)
	}
	verdicts := make([]bool, len(deliveries))
	for i, d := range deliveries {
		now := time.Now()
		if d.Now != nil {
			now = time.Unix(*d.Now, 0)
		}
		verdicts[i] = legwork.IsFromLegwork(d.Secret, d.Timestamp, d.Signature, d.Body, now)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}
