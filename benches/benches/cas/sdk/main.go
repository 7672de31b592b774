// The peer of the benchmark `cas`: the SDK of the Remote Execution API.
//
//	sdk fill ADDRESS              makes trees and stores them; prints their roots, one a line
//	sdk read ADDRESS FOLDER       reads the trees whose roots come on standard input into the
//	                              folder; prints the seconds and the peak of memory in kB
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bazelbuild/remote-apis-sdks/go/pkg/client"
	"github.com/bazelbuild/remote-apis-sdks/go/pkg/digest"
	"github.com/bazelbuild/remote-apis-sdks/go/pkg/filemetadata"
	"github.com/bazelbuild/remote-apis-sdks/go/pkg/uploadinfo"
	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"golang.org/x/sync/errgroup"
)

const (
	trees   = 300
	files   = 40
	atATime = 8
)

func main() {
	ctx := context.Background()
	c, err := client.NewClient(ctx, "instance", client.DialParams{Service: os.Args[2], NoSecurity: true})
	check(err)
	defer c.Close()
	switch os.Args[1] {
	case "fill":
		fill(ctx, c)
	case "read":
		read(ctx, c, os.Args[3])
	default:
		log.Fatalf("unknown: %s", os.Args[1])
	}
}

func fill(ctx context.Context, c *client.Client) {
	random := rand.New(rand.NewSource(1))
	for tree := 0; tree < trees; tree++ {
		var entries []*uploadinfo.Entry
		inner := &repb.Directory{}
		for file := 0; file < files; file++ {
			name, size := fmt.Sprintf("log-%02d.txt", file), 1000+random.Intn(9000)
			switch {
			case file == 0:
				name, size = "perf_results.json", 200_000+random.Intn(300_000)
			case file < 4:
				name, size = fmt.Sprintf("trace-%d.pb", file), 100_000+random.Intn(200_000)
			}
			entry := uploadinfo.EntryFromBlob(content(random, size))
			entries = append(entries, entry)
			inner.Files = append(inner.Files, &repb.FileNode{Name: name, Digest: entry.Digest.ToProto()})
		}
		folder, err := uploadinfo.EntryFromProto(inner)
		check(err)
		root, err := uploadinfo.EntryFromProto(&repb.Directory{
			Directories: []*repb.DirectoryNode{{Name: "benchmark", Digest: folder.Digest.ToProto()}},
		})
		check(err)
		_, _, err = c.UploadIfMissing(ctx, append(entries, folder, root)...)
		check(err)
		fmt.Println(root.Digest)
	}
}

// Digits and words, as results and logs have them.
func content(random *rand.Rand, size int) []byte {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "{\"name\": \"metric_%d\", \"sampleValues\": [%g, %g]},\n",
			random.Intn(50), random.NormFloat64(), random.NormFloat64())
	}
	return []byte(b.String()[:size])
}

func read(ctx context.Context, c *client.Client, folder string) {
	var roots []digest.Digest
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		root, err := digest.NewFromString(lines.Text())
		check(err)
		roots = append(roots, root)
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for index, root := range roots {
		group.Go(func() error {
			out := filepath.Join(folder, strconv.Itoa(index))
			_, _, err := c.DownloadDirectory(ctx, root, out, filemetadata.NewNoopCache())
			return err
		})
	}
	check(group.Wait())
	fmt.Printf("%f %s\n", time.Since(began).Seconds(), peak())
}

// The most memory that this process had, in kB.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.Fields(rest)[0]
		}
	}
	return "0"
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
