// Buildbucket's own handlers over a datastore in memory, for the tests of our client.
//
//	buildbucket FILE    serves the builds in the file, which are JSON, a line each
//
// The first line printed is its address. A request with a token may read and cancel all builds; one
// without a token may not.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"go.chromium.org/luci/auth/identity"
	"go.chromium.org/luci/buildbucket/appengine/model"
	"go.chromium.org/luci/buildbucket/appengine/rpc"
	"go.chromium.org/luci/buildbucket/appengine/rpc/testutil"
	"go.chromium.org/luci/buildbucket/appengine/tasks"
	tasksproto "go.chromium.org/luci/buildbucket/appengine/tasks/defs"
	"go.chromium.org/luci/buildbucket/bbperms"
	pb "go.chromium.org/luci/buildbucket/proto"
	grpcpb "go.chromium.org/luci/buildbucket/proto/grpcpb"
	"go.chromium.org/luci/buildbucket/protoutil"
	"go.chromium.org/luci/common/clock"
	"go.chromium.org/luci/common/clock/testclock"
	"go.chromium.org/luci/common/data/strpair"
	"go.chromium.org/luci/gae/filter/txndefer"
	"go.chromium.org/luci/gae/impl/memory"
	"go.chromium.org/luci/gae/service/datastore"
	"go.chromium.org/luci/grpc/appstatus"
	"go.chromium.org/luci/grpc/prpc"
	"go.chromium.org/luci/server/auth"
	"go.chromium.org/luci/server/auth/authtest"
	"go.chromium.org/luci/server/auth/realms"
	"go.chromium.org/luci/server/router"
	"go.chromium.org/luci/server/tq"
	"go.chromium.org/luci/server/tq/tqtesting"
)

// The speed of time: a build ends half a minute after it was canceled.
const speed = 1000

const user = identity.Identity("user:ada@example.org")

func serve(file string) error {
	ctx := txndefer.FilterRDS(memory.Use(context.Background()))
	ctx = clock.Set(ctx, testclock.NewFastClock(time.Now(), speed))
	datastore.GetTestable(ctx).AutoIndex(true)
	datastore.GetTestable(ctx).Consistent(true)
	ctx, queue := tq.TestingContext(ctx, nil)
	permissions, err := fill(ctx, file)
	if err != nil {
		return err
	}

	handle := func(arrived context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		caller := &authtest.FakeState{FakeDB: authtest.NewFakeDB(permissions...)}
		if header, _ := metadata.FromIncomingContext(arrived); len(header.Get("authorization")) != 0 {
			caller.Identity = user
		}
		answer, err := handler(auth.WithState(ctx, caller), request)
		return answer, appstatus.GRPCifyAndLog(ctx, err)
	}
	routes := router.New()
	server := &prpc.Server{EnableNonStandardFieldMasks: true, UnaryServerInterceptor: handle}
	grpcpb.RegisterBuildsServer(server, &rpc.Builds{})
	server.InstallHandlers(routes, nil)
	go endCanceled(ctx, queue)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, routes)
}

// Puts the builds of the file into the datastore. Returns the user's permissions in their buckets.
func fill(ctx context.Context, file string) ([]authtest.MockedDatum, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var permissions []authtest.MockedDatum
	seen := map[string]bool{}
	lines := bufio.NewScanner(opened)
	for lines.Scan() {
		build := &pb.Build{}
		if err := protojson.Unmarshal(lines.Bytes(), build); err != nil {
			return nil, err
		}
		builder := build.Builder
		if realm := realms.Join(builder.Project, builder.Bucket); !seen[realm] {
			seen[realm] = true
			testutil.PutBucket(ctx, builder.Project, builder.Bucket, nil)
			for _, permission := range []realms.Permission{bbperms.BuildsGet, bbperms.BuildsList, bbperms.BuildsCancel} {
				permissions = append(permissions, authtest.MockPermission(user, realm, permission))
			}
		}
		if err := put(ctx, build); err != nil {
			return nil, err
		}
	}
	return permissions, lines.Err()
}

// Puts a build into the datastore, in the parts in which Buildbucket keeps it.
func put(ctx context.Context, build *pb.Build) error {
	if build.Input == nil {
		build.Input = &pb.Build_Input{}
	}
	if build.Output == nil {
		build.Output = &pb.Build_Output{}
	}
	key := datastore.KeyForObj(ctx, &model.Build{ID: build.Id})
	parts := []any{
		&model.BuildInfra{Build: key, Proto: &pb.BuildInfra{}},
		&model.BuildInputProperties{Build: key, Proto: build.Input.Properties},
		&model.BuildOutputProperties{Build: key, Proto: build.Output.Properties},
		&model.BuildStatus{Build: key, Status: build.Status},
	}
	tags := protoutil.StringPairMap(build.Tags)
	build.Tags, build.Input.Properties, build.Output.Properties = nil, nil, nil
	parts = append(parts, &model.Build{ID: build.Id, Proto: build, Tags: tags.Format()})
	entry := model.TagIndexEntry{
		BuildID:     build.Id,
		BucketID:    protoutil.FormatBucketID(build.Builder.Project, build.Builder.Bucket),
		CreatedTime: build.CreateTime.AsTime(),
	}
	for _, set := range tags["buildset"] {
		tag := strpair.Format("buildset", set)
		if err := model.UpdateTagIndex(ctx, tag, []model.TagIndexEntry{entry}); err != nil {
			return err
		}
	}
	return datastore.Put(ctx, parts...)
}

// Ends builds once their cancellation is due, like Buildbucket's queue of tasks.
func endCanceled(ctx context.Context, queue *tqtesting.Scheduler) {
	ended := map[int64]bool{}
	for range time.Tick(5 * time.Millisecond) {
		for _, task := range queue.Tasks() {
			cancel, isCancel := task.Payload.(*tasksproto.CancelBuildTask)
			if isCancel && !ended[cancel.BuildId] && !clock.Now(ctx).Before(task.ETA) {
				ended[cancel.BuildId] = true
				end(ctx, cancel.BuildId)
			}
		}
	}
}

func end(ctx context.Context, build int64) {
	// When the build has ended it is counted, and only Buildbucket's own program can set that up.
	defer func() {
		if trouble := recover(); trouble != nil {
			log.Printf("build %d is not counted: %v", build, trouble)
		}
	}()
	if _, err := tasks.Cancel(ctx, build); err != nil {
		log.Fatalf("build %d: %v", build, err)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("buildbucket FILE")
	}
	if err := serve(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
