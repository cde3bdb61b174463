package main

import (
	"context"
	"errors"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Volumes are multiples of a page, as those of most drivers are.
const granularity = 4096

// Enough for the structures of an ext4.
const smallest = 1 << 20

type controller struct {
	csi.UnimplementedControllerServer
	store *volumeStore
}

func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	capability := func(kind csi.ControllerServiceCapability_RPC_Type) *csi.ControllerServiceCapability {
		return &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}}}
	}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{
		capability(csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME),
		capability(csi.ControllerServiceCapability_RPC_GET_CAPACITY),
	}}, nil
}

func (c *controller) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if !plainName.MatchString(request.GetName()) {
		return nil, status.Errorf(codes.InvalidArgument, "%q is no name for a volume", request.GetName())
	}
	if request.GetVolumeContentSource() != nil {
		return nil, status.Error(codes.InvalidArgument, "volumes begin empty here")
	}
	if reason := refusal(request.GetVolumeCapabilities()); reason != "" {
		return nil, status.Error(codes.InvalidArgument, reason)
	}
	wanted := request.GetCapacityRange()
	size := max((wanted.GetRequiredBytes()+granularity-1)/granularity*granularity, smallest)
	if limit := wanted.GetLimitBytes(); limit > 0 && size > limit {
		return nil, status.Errorf(codes.OutOfRange, "%d bytes are less than the smallest volume", limit)
	}
	if v, found := c.store.byName(request.GetName()); found {
		if v.size < size {
			return nil, status.Errorf(codes.AlreadyExists, "it is there with %d bytes", v.size)
		}
		return &csi.CreateVolumeResponse{Volume: describe(v)}, nil
	}
	for _, node := range nodesOf(request.GetAccessibilityRequirements()) {
		v := volume{node: node, name: request.GetName(), size: size}
		err := c.store.create(v)
		if errors.Is(err, errNoRoom) {
			continue
		}
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		return &csi.CreateVolumeResponse{Volume: describe(v)}, nil
	}
	return nil, status.Errorf(codes.ResourceExhausted, "no node has room for %d bytes", size)
}

func (c *controller) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	v, err := c.store.byID(request.GetVolumeId())
	if errors.Is(err, os.ErrNotExist) {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	file := c.store.path(v)
	if found, err := device(file); found != "" || err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "it is in use: %s %v", found, err)
	}
	if err := os.Remove(file); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (c *controller) ValidateVolumeCapabilities(_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if _, err := c.store.byID(request.GetVolumeId()); err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	if reason := refusal(request.GetVolumeCapabilities()); reason != "" {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: reason}, nil
	}
	confirmed := &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.GetVolumeCapabilities()}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: confirmed}, nil
}

func (c *controller) GetCapacity(_ context.Context, request *csi.GetCapacityRequest) (*csi.GetCapacityResponse, error) {
	return &csi.GetCapacityResponse{AvailableCapacity: c.store.free(request.GetAccessibleTopology().GetSegments()[topologyKey])}, nil
}

// refusal says why a volume cannot be used so, or nothing.
func refusal(capabilities []*csi.VolumeCapability) string {
	if len(capabilities) == 0 {
		return "nothing says how the volume will be used"
	}
	for _, capability := range capabilities {
		switch capability.GetAccessMode().GetMode() {
		case csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
			csi.VolumeCapability_AccessMode_MULTI_NODE_SINGLE_WRITER,
			csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY:
			return "a volume is on one node"
		}
		if kind := capability.GetMount().GetFsType(); kind != "" && kind != "ext4" {
			return "the filesystem is ext4"
		}
	}
	return ""
}

// nodesOf lists the nodes where a volume may be, the best first.
func nodesOf(requirement *csi.TopologyRequirement) []string {
	var nodes []string
	for _, topology := range append(requirement.GetPreferred(), requirement.GetRequisite()...) {
		if node := topology.GetSegments()[topologyKey]; plainName.MatchString(node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func describe(v volume) *csi.Volume {
	return &csi.Volume{VolumeId: v.id(), CapacityBytes: v.size, AccessibleTopology: []*csi.Topology{topologyOf(v.node)}}
}

func topologyOf(node string) *csi.Topology {
	return &csi.Topology{Segments: map[string]string{topologyKey: node}}
}
