//! Modes and types with fixed texts: access to volumes, restarts of tasks, events of tasks. As in
//! [`status`](crate::status), values that this version does not know are kept as they are.

use crate::text_enum::text_enum;

text_enum! {
    /// How allocations may use a volume (`docs/spec/jobspec.md`).
    VolumeAccessMode {
        /// One node reads.
        SingleNodeReaderOnly = "single-node-reader-only",
        /// One node reads and writes.
        SingleNodeWriter = "single-node-writer",
        /// One allocation reads and writes.
        SingleNodeSingleWriter = "single-node-single-writer",
        /// Several allocations on one node read and write.
        SingleNodeMultiWriter = "single-node-multi-writer",
        /// Several nodes read.
        MultiNodeReaderOnly = "multi-node-reader-only",
        /// Several nodes read, one of them writes.
        MultiNodeSingleWriter = "multi-node-single-writer",
        /// Several nodes read and write.
        MultiNodeMultiWriter = "multi-node-multi-writer",
    }
}

text_enum! {
    /// What happens when a task has used up its restarts in an interval.
    RestartMode {
        /// The task waits for the next interval.
        Delay = "delay",
        /// The task fails.
        Fail = "fail",
    }
}

text_enum! {
    /// The type of an event of a task (`docs/spec/client.md §28`).
    TaskEventType {
        /// The node has received the allocation.
        Received = "Received",
        /// The task is set up.
        TaskSetup = "Task Setup",
        /// The directory of the task is built.
        BuildingTaskDirectory = "Building Task Directory",
        /// The task runs.
        Started = "Started",
        /// The task ended.
        Terminated = "Terminated",
        /// The task is asked to end.
        Killing = "Killing",
        /// The task ended because it was asked to.
        Killed = "Killed",
        /// The task starts again after a delay.
        Restarting = "Restarting",
        /// The task does not start again.
        NotRestarting = "Not Restarting",
        /// A restart was requested.
        RestartSignaled = "Restart Signaled",
        /// The task is sent a signal.
        Signaling = "Signaling",
        /// Another task of the group failed.
        SiblingTaskFailed = "Sibling Task Failed",
        /// The leader of the group ended.
        LeaderTaskDead = "Leader Task Dead",
        /// All main tasks of the group ended.
        MainTasksDead = "Main Tasks Dead",
        /// The driver could not start the task.
        DriverFailure = "Driver Failure",
        /// The driver reports progress.
        Driver = "Driver",
        /// The task is not valid.
        FailedValidation = "Failed Validation",
        /// The task could not be set up.
        SetupFailure = "Setup Failure",
        /// Artifacts are downloaded.
        DownloadingArtifacts = "Downloading Artifacts",
        /// An artifact could not be downloaded.
        FailedArtifactDownload = "Failed Artifact Download",
        /// The node could not take over the task when its agent started.
        FailedRestoringTask = "Failed Restoring Task",
        /// A step before or after the task failed.
        HookFailed = "Task hook failed",
        /// A step before or after the task reports its result.
        HookMessage = "Task hook message",
        /// The allocation did not become healthy.
        AllocUnhealthy = "Alloc Unhealthy",
        /// A template waits, or was rendered.
        Template = "Template",
        /// The task is killed after its shutdown delay.
        WaitingForShutdownDelay = "Waiting for shutdown delay",
        /// The task is killed without its shutdown delay.
        SkippingShutdownDelay = "Skipping shutdown delay",
        /// The plugin that the task runs answers.
        PluginBecameHealthy = "Plugin became healthy",
        /// The plugin that the task runs does not answer.
        PluginBecameUnhealthy = "Plugin became unhealthy",
        /// The task uses too much of the disk.
        DiskResourcesExceeded = "Disk Resources Exceeded",
        /// The node is connected to servers again.
        Reconnected = "Reconnected",
    }
}
