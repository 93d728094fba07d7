"""What a process belongs to, from real spellings of /proc/PID/cgroup; and what a user made to look like one."""

import pytest

from inventory.node_agent.probe.cgroups import job_of

ID = "1f2e3d4c5b6a" + "0" * 52
OTHER = "ffffffffffff" + "0" * 52


@pytest.mark.parametrize(
    ("cgroup", "job"),
    [
        ("0::/system.slice/gpu-lease-42.scope", "lease:42"),
        ("0::/gpu.slice/gpu-lease.slice/gpu-lease-a1-b2.scope/inner", "lease:a1-b2"),
        ("0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", "slurm:123"),
        ("0::/system.slice/n7_slurmstepd.scope/job_123/step_batch/user", "slurm:123"),
        ("9:memory:/slurm/uid_1005/job_77/step_0/task_0\n1:name=systemd:/system.slice/slurmd.service", "slurm:77"),
        ("4:devices:/slurm_n7/uid_1005/job_77", "slurm:77"),
        (f"0::/system.slice/docker-{ID}.scope", "container:1f2e3d4c5b6a"),
        (f"12:pids:/docker/{ID}\n1:name=systemd:/docker/{ID}", "container:1f2e3d4c5b6a"),
        (f"0::/machine.slice/libpod-{ID}.scope/container", "container:1f2e3d4c5b6a"),
        (f"0::/user.slice/user-1005.slice/user@1005.service/user.slice/libpod-{ID}.scope", "container:1f2e3d4c5b6a"),
        (f"0::/kubepods/burstable/pod6f1c3c9e-0000-4000-8000-000000000000/{ID}", "container:1f2e3d4c5b6a"),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f.slice/cri-containerd-{ID}.scope",
            "container:1f2e3d4c5b6a",
        ),
        (f"0::/kubepods.slice/kubepods-pod6f.slice/crio-{ID}.scope", "container:1f2e3d4c5b6a"),
        (
            f"0::/system.slice/containerd.service/kubepods-besteffort-pod6f.slice:cri-containerd:{ID}",
            "container:1f2e3d4c5b6a",
        ),
        # A node that is a container itself; and a container of a Slurm job.
        (f"0::/system.slice/docker-{OTHER}.scope/kubepods/pod6f/{ID}", "container:1f2e3d4c5b6a"),
        (f"0::/system.slice/slurmstepd.scope/job_123/step_0/user/docker-{ID}.scope", "slurm:123"),
        ("0::/system.slice/nvidia-persistenced.service", "service:nvidia-persistenced"),
        ("0::/system.slice/system-getty.slice/getty@tty1.service", "service:getty@tty1"),
        ("0::/user.slice/user-1005.slice/session-3.scope", ""),
        ("0::/", ""),
        ("", ""),
        ("garbage\n::\n", ""),
    ],
)
def test_the_job_is_read_from_the_cgroup(cgroup, job):
    assert job_of(cgroup) == job


@pytest.mark.parametrize(
    ("cgroup", "job"),
    [
        ("0::/user.slice/user-1005.slice/user@1005.service/app.slice/gpu-lease-42.scope", ""),
        ("0::/user.slice/user-1005.slice/user@1005.service/slurmstepd.scope/job_9", ""),
        (f"0::/system.slice/docker-{ID}.scope/gpu-lease-42.scope", "container:1f2e3d4c5b6a"),
        (f"0::/system.slice/docker-{ID}.scope/slurm/uid_0/job_9", "container:1f2e3d4c5b6a"),
        ("0::/system.slice/gpu-lease-42.scope.d/x", ""),
        ("0::/system.slice/my-gpu-lease-42.scope", ""),
        ("0::/user.slice/user-1005.slice/user@1005.service/app.slice/dcgm.service", ""),
    ],
)
def test_a_name_that_a_user_may_give_is_no_proof(cgroup, job):
    assert job_of(cgroup) == job
