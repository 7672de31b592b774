package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	buildbucket "go.chromium.org/luci/buildbucket/proto/grpcpb"
	"go.chromium.org/luci/grpc/prpc"
	"go.chromium.org/luci/server/router"
	swarming "go.chromium.org/luci/swarming/proto/api_v2/grpcpb"
)

// Serves Buildbucket and Swarming with LUCI's pRPC server. Each call is made again with LUCI's
// pRPC client, at the address. The first line printed is the server's own address.
//
// So a request of ours is read by LUCI's server and written by its client, and an answer the
// other way round. Both are first read strictly: LUCI's own code drops fields that it doesn't
// know.
func proxy(address string) error {
	client := &prpc.Client{
		C:       &http.Client{Transport: strictAnswers{http.DefaultTransport}},
		Host:    strings.TrimPrefix(address, "http://"),
		Options: &prpc.Options{Insecure: true, RequestFormat: prpc.FormatJSONPB, ResponseFormat: prpc.FormatJSONPB},
	}
	forward := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		method, err := methodOf(info.FullMethod)
		if err != nil {
			return nil, err
		}
		_, answer, err := messagesOf(method)
		if err != nil {
			return nil, err
		}
		arrived, _ := metadata.FromIncomingContext(ctx)
		for _, token := range arrived.Get("authorization") {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
		}
		service, name := string(method.Parent().FullName()), string(method.Name())
		err = client.Call(ctx, service, name, request.(proto.Message), answer)
		return answer, err
	}

	routes := router.New()
	// As Buildbucket sets it up.
	builds := &prpc.Server{EnableNonStandardFieldMasks: true, UnaryServerInterceptor: forward}
	buildbucket.RegisterBuildsServer(builds, buildbucket.UnimplementedBuildsServer{})
	tasks := &prpc.Server{UnaryServerInterceptor: forward}
	swarming.RegisterTasksServer(tasks, swarming.UnimplementedTasksServer{})
	swarming.RegisterBotsServer(tasks, swarming.UnimplementedBotsServer{})

	taskRoutes := router.New()
	builds.InstallHandlers(routes, nil)
	tasks.InstallHandlers(taskRoutes, nil)
	mux := http.NewServeMux()
	mux.Handle("/prpc/swarming.v2.Tasks/", taskRoutes)
	mux.Handle("/prpc/swarming.v2.Bots/", taskRoutes)
	mux.Handle("/prpc/", routes)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, strictRequests(mux))
}
