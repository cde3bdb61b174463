// A small CSI driver for the tests: one process for each node, all on one machine.
//
// A volume is a sparse file in the folder of the node that it belongs to. As a Block volume it is seen through a loop
// device, as a Filesystem volume it is an ext4 on one, so that sizes, overhead and a full disk are real. Every process can
// create and delete volumes of every node, because all of them see all folders; one provisioner is enough.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	driverName  = "csi.test.decant"
	topologyKey = "topology.test.decant/node"
)

func main() {
	node := flag.String("node", "", "name of the node")
	endpoint := flag.String("endpoint", "", "socket to serve CSI on")
	register := flag.String("register", "", "socket in the kubelet's folder of plugins to register")
	folder := flag.String("volumes", "", "folder that holds a folder of volumes for each node")
	capacity := flag.Int64("capacity", 1<<40, "bytes that the volumes of a node may have together")
	flag.Parse()
	if *node == "" || *endpoint == "" || *register == "" || *folder == "" {
		log.Fatal("-node, -endpoint, -register and -volumes are needed")
	}
	store := &volumeStore{folder: *folder, capacity: *capacity}
	if err := os.MkdirAll(filepath.Join(*folder, *node), 0o700); err != nil {
		log.Fatal(err)
	}

	driver := grpc.NewServer(grpc.UnaryInterceptor(logFailure))
	csi.RegisterIdentityServer(driver, identity{})
	csi.RegisterControllerServer(driver, &controller{store: store})
	csi.RegisterNodeServer(driver, &nodeServer{node: *node, store: store})
	// The kubelet looks for the driver as soon as it sees the other socket.
	go serve(driver, *endpoint)
	registrar := grpc.NewServer()
	registration.RegisterRegistrationServer(registrar, registrationServer{endpoint: *endpoint})
	go serve(registrar, *register)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	registrar.Stop()
	driver.Stop()
}

func serve(server *grpc.Server, socket string) {
	// One that was killed leaves its socket behind.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o750); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

func logFailure(ctx context.Context, request any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, request)
	if err != nil {
		log.Printf("%s: %v", call.FullMethod, err)
	}
	return answer, err
}

type identity struct {
	csi.UnimplementedIdentityServer
}

func (identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "1"}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	capability := func(kind csi.PluginCapability_Service_Type) *csi.PluginCapability {
		return &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: kind}}}
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		capability(csi.PluginCapability_Service_CONTROLLER_SERVICE),
		capability(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
	}}, nil
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// registrationServer tells the kubelet of the driver, as the sidecar node-driver-registrar does.
type registrationServer struct {
	registration.UnimplementedRegistrationServer
	endpoint string
}

func (server registrationServer) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type:              registration.CSIPlugin,
		Name:              driverName,
		Endpoint:          server.endpoint,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (registrationServer) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		log.Printf("the kubelet refuses the driver: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
