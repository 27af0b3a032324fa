// SPDX-License-Identifier: Apache-2.0
//
// gpu-sim-agent: the part of a simulated node that talks to the Kubernetes API. The chart runs it as a
// sidecar of the DaemonSet's pods (`run`) and in `helm test` (`check-nodes`). Problems go to stderr in one form and,
// where Kubernetes has put one, to the termination log, so that `kubectl describe pod` shows them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const usage = `usage: gpu-sim-agent <command> [options]

  run          hold this node for one release, show which GPUs are in use, declare faults, and clean up at the end
  check-nodes  fail unless labelled nodes exist and the DaemonSet is ready on all of them

'gpu-sim-agent <command> -h' lists the options.
`

// terminationLog is where the kubelet reads the reason of a container's end.
const terminationLog = "/dev/termination-log"

// usageError is a mistake on the command line: exit code 2, where everything else that fails is 1.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(report(command(ctx, os.Args[1:], os.Stderr), os.Stderr, terminationLog))
}

// command runs the command named by the first argument.
func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("no command, expected run or check-nodes\n" + usage)}
	}
	switch args[0] {
	case "run":
		return runCommand(ctx, args[1:], out)
	case "check-nodes":
		return checkNodesCommand(ctx, args[1:], out)
	case "-h", "--help", "help":
		fmt.Fprint(out, usage)
		return nil
	}
	return usageError{fmt.Errorf("unknown command, got %q\n%s", args[0], usage)}
}

// report prints err and gives the exit code for it.
func report(err error, out io.Writer, terminationLog string) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	message := "gpu-sim-agent: " + strings.TrimRight(err.Error(), "\n") + "\n"
	fmt.Fprint(out, message)
	// Opened without O_CREATE: only the kubelet makes this file.
	if log, openError := os.OpenFile(terminationLog, os.O_WRONLY|os.O_TRUNC, 0); openError == nil {
		_, _ = log.WriteString(message)
		_ = log.Close()
	}
	var wrong usageError
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// parse reads options and reports every required one that is missing, not just the first.
func parse(flags *flag.FlagSet, args []string, required ...string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	problems := []string{}
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Sprintf("unexpected arguments, got %q", flags.Args()))
	}
	for _, name := range required {
		if flags.Lookup(name).Value.String() == "" {
			problems = append(problems, fmt.Sprintf("--%s: must be given", name))
		}
	}
	if len(problems) > 0 {
		return usageError{errors.New(strings.Join(problems, "\ngpu-sim-agent: "))}
	}
	return nil
}

// connect makes a client from a kubeconfig file or, without one, from the pod's service account. The dynamic
// client is used throughout: the typed one registers every API group and is three times the size.
func connect(kubeconfig string) (dynamic.Interface, error) {
	config, err := rest.InClusterConfig()
	if kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("no access to the Kubernetes API: %w; run in a pod or give --kubeconfig", err)
	}
	return dynamic.NewForConfig(config)
}
