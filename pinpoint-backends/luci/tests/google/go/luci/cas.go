package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc"

	"github.com/bazelbuild/remote-apis-sdks/go/pkg/client"
	"github.com/bazelbuild/remote-apis-sdks/go/pkg/digest"
	"github.com/bazelbuild/remote-apis-sdks/go/pkg/filemetadata"
)

// Reads a tree, in batches, and each of its files as a stream: into the folder `plain` of the
// folder, and compressed into `compressed`. Prints the number of files read as streams.
func tree(ctx context.Context, address, instance, root, folder string) error {
	digestOfRoot, err := digest.NewFromString(root)
	if err != nil {
		return err
	}
	files := 0
	for name, compressed := range map[string]client.CompressedBytestreamThreshold{"plain": -1, "compressed": 0} {
		dial := client.DialParams{
			Service:    address,
			NoSecurity: true,
			// The store requires a user agent.
			DialOpts: []grpc.DialOption{grpc.WithUserAgent("pinpoint/tests")},
		}
		c, err := client.NewClient(ctx, instance, dial, compressed)
		if err != nil {
			return err
		}
		defer c.Close()
		outputs, _, err := c.DownloadDirectory(ctx, digestOfRoot, filepath.Join(folder, name), filemetadata.NewNoopCache())
		if err != nil {
			return err
		}
		for path, output := range outputs {
			if output.IsEmptyDirectory || output.SymlinkTarget != "" {
				continue
			}
			content, _, err := c.ReadBlob(ctx, output.Digest)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if hash := fmt.Sprintf("%x", sha256.Sum256(content)); hash != output.Digest.Hash {
				return fmt.Errorf("%s: %s in place of %s", path, hash, output.Digest)
			}
			files++
		}
	}
	return show(map[string]any{"files": files})
}
