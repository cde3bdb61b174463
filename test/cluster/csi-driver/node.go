package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type nodeServer struct {
	csi.UnimplementedNodeServer
	node  string
	store *volumeStore
}

func (n *nodeServer) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.node, AccessibleTopology: topologyOf(n.node)}, nil
}

func (n *nodeServer) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	stage := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: stage}},
	}}, nil
}

// NodeStageVolume attaches a loop device; for a Filesystem volume it also mounts it, formatted if it has never been used.
func (n *nodeServer) NodeStageVolume(_ context.Context, request *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	v, err := n.own(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	loop, err := attach(n.store.path(v))
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	place := request.GetStagingTargetPath()
	mounted, err := isMounted(place)
	if err == nil && request.GetVolumeCapability().GetMount() != nil && !mounted {
		err = formatAndMount(loop, place, request.GetVolumeCapability().GetMount().GetMountFlags())
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (n *nodeServer) NodeUnstageVolume(_ context.Context, request *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if err := unmount(request.GetStagingTargetPath()); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	// One that is gone has no device any more.
	if v, err := n.own(request.GetVolumeId()); err == nil {
		if err := detach(n.store.path(v)); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// NodePublishVolume binds the mounted folder, or the device itself, to where the kubelet wants it.
func (n *nodeServer) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	v, err := n.own(request.GetVolumeId())
	if err != nil {
		return nil, err
	}
	from, place := request.GetStagingTargetPath(), request.GetTargetPath()
	if request.GetVolumeCapability().GetBlock() != nil {
		if from, err = device(n.store.path(v)); err == nil && from == "" {
			return nil, status.Error(codes.FailedPrecondition, "it is not staged")
		}
		if err == nil {
			err = makeFile(place)
		}
	} else {
		err = os.MkdirAll(place, 0o750)
	}
	if err == nil {
		err = bind(from, place, request.GetReadonly())
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (n *nodeServer) NodeUnpublishVolume(_ context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	place := request.GetTargetPath()
	if err := unmount(place); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := os.Remove(place); err != nil && !os.IsNotExist(err) {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// own finds a volume of this node.
func (n *nodeServer) own(id string) (volume, error) {
	v, err := n.store.byID(id)
	if err != nil {
		return v, status.Error(codes.NotFound, err.Error())
	}
	if v.node != n.node {
		return v, status.Errorf(codes.FailedPrecondition, "it is on %s", v.node)
	}
	return v, nil
}

func formatAndMount(loop, place string, flags []string) error {
	// blkid fails for a device on which it recognises nothing.
	if _, err := run("blkid", "--probe", loop); err != nil {
		if _, err := run("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-E", "nodiscard", loop); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(place, 0o750); err != nil {
		return err
	}
	args := []string{"-t", "ext4"}
	for _, flag := range flags {
		args = append(args, "-o", flag)
	}
	_, err := run("mount", append(args, loop, place)...)
	return err
}

func makeFile(place string) error {
	if err := os.MkdirAll(filepath.Dir(place), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(place, os.O_CREATE, 0o660)
	if err != nil {
		return err
	}
	return file.Close()
}

func bind(from, place string, readOnly bool) error {
	mounted, err := isMounted(place)
	if mounted || err != nil {
		return err
	}
	if _, err := run("mount", "--bind", from, place); err != nil || !readOnly {
		return err
	}
	_, err = run("mount", "-o", "remount,bind,ro", place)
	return err
}
