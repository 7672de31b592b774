// The clients and the server of LUCI, and the SDK of the Remote Execution API, for the tests of
// our own.
//
//	luci proxy ADDRESS                        stands between our clients and the services at ADDRESS
//	luci gitiles ADDRESS PROJECT FROM TO PATH  reads a history, and a file of its newest commit
//	luci cas ADDRESS INSTANCE ROOT FOLDER      reads a tree into the folder, and its files as streams
//
// Prints the results as JSON, one line each.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
)

func main() {
	ctx, arguments := context.Background(), os.Args[1:]
	if len(arguments) < 2 {
		log.Fatal("luci proxy|gitiles|cas ADDRESS …; see the source")
	}
	var err error
	switch command := arguments[0]; {
	case command == "proxy" && len(arguments) == 2:
		err = proxy(arguments[1])
	case command == "gitiles" && len(arguments) == 6:
		err = history(ctx, arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
	case command == "cas" && len(arguments) == 5:
		err = tree(ctx, arguments[1], arguments[2], arguments[3], arguments[4])
	default:
		err = fmt.Errorf("unknown: %q", arguments)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func show(value any) error {
	return json.NewEncoder(os.Stdout).Encode(value)
}
