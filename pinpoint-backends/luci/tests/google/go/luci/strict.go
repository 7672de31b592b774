package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.chromium.org/luci/grpc/prpc"
)

// The prefix of JSON in answers of pRPC.
const guard = ")]}'\n"

// The method that a path such as /prpc/SERVICE/METHOD or /SERVICE/METHOD ends with.
func methodOf(path string) (protoreflect.MethodDescriptor, error) {
	parts := strings.Split(strings.TrimPrefix(strings.Trim(path, "/"), "prpc/"), "/")
	if len(parts) != 2 {
		return nil, fmt.Errorf("%q names no method", path)
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(parts[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", parts[0], err)
	}
	service, isService := found.(protoreflect.ServiceDescriptor)
	if !isService {
		return nil, fmt.Errorf("%s is no service", parts[0])
	}
	method := service.Methods().ByName(protoreflect.Name(parts[1]))
	if method == nil {
		return nil, fmt.Errorf("%s has no method %s", parts[0], parts[1])
	}
	return method, nil
}

// An empty request of a method, and an empty answer.
func messagesOf(method protoreflect.MethodDescriptor) (request, answer proto.Message, err error) {
	var both [2]proto.Message
	for i, message := range []protoreflect.MessageDescriptor{method.Input(), method.Output()} {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(message.FullName())
		if err != nil {
			return nil, nil, err
		}
		both[i] = kind.New().Interface()
	}
	return both[0], both[1], nil
}

// Refuses requests that are not JSON of their method's message, to the last field.
func strictRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = readStrictly(request.URL.Path, func(request, _ proto.Message) error {
				return protojson.Unmarshal(body, request)
			})
		}
		if err != nil {
			answer.Header().Set(prpc.HeaderGRPCCode, "3")
			answer.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(answer, "a request read strictly: %v\n", err)
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(answer, request)
	})
}

// Refuses answers in the same way: LUCI's client gets an error in their place.
type strictAnswers struct{ next http.RoundTripper }

func (strict strictAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := strict.next.RoundTrip(request)
	if err != nil || answer.Header.Get(prpc.HeaderGRPCCode) != "0" {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	err = readStrictly(request.URL.Path, func(_, answer proto.Message) error {
		json, found := bytes.CutPrefix(body, []byte(guard))
		if !found {
			return fmt.Errorf("it does not begin with %q", guard)
		}
		return protojson.Unmarshal(json, answer)
	})
	if err != nil {
		answer.Header = http.Header{"Content-Type": {"text/plain"}}
		answer.Header.Set(prpc.HeaderGRPCCode, "3")
		body = []byte(fmt.Sprintf("an answer read strictly: %v\n", err))
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	return answer, nil
}

func readStrictly(path string, read func(request, answer proto.Message) error) error {
	method, err := methodOf(path)
	if err != nil {
		return err
	}
	request, answer, err := messagesOf(method)
	if err != nil {
		return err
	}
	if err := read(request, answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
