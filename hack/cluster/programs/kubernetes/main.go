// Kubernetes is every program of a Kubernetes node and of its control plane in one file: it is the one it is called as.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { component(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { component(controllermanager.NewControllerManagerCommand()) },
	"kube-proxy":              func() { component(proxy.NewProxyCommand()) },
	"kube-scheduler":          func() { component(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { component(kubelet.NewKubeletCommand(context.Background())) },
	// kubectl words its own errors.
	"kubectl": func() { util.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
}

func component(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func main() {
	name := filepath.Base(os.Args[0])
	program, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s is no program of Kubernetes: call this file by the name of one\n", name)
		os.Exit(2)
	}
	program()
}
