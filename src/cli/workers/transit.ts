// Connections in transit: passed to a worker, and not acknowledged yet.
import type { Worker } from 'node:cluster';

/*
 * With `SCHED_RR`, Node's primary process accepts a connection, sends it to a worker as `newconn` with a number `seq`, and
 * closes its own descriptor at the reply (`ack`). A worker that dies before its reply leaves that descriptor open for ever:
 * the primary process leaks it, and the client waits, because the kernel closes a connection with its last descriptor. Node
 * has no public function for these connections, so this module relies on Node's internal messages. They are the same in Node
 * 12 and Node 20. If a later version changes them, test/process/workers-faults.test.ts fails.
 *
 * With `SCHED_NONE` nothing is in transit, but workers accept unequal shares: 16, 10, 10 and 4 of 40 connections that
 * arrived one after another.
 */
const clusterCommand = 'NODE_CLUSTER';

/**
 * Closes the connections in transit to a worker after its end, as the kernel closes all its other connections.
 *
 * They are not passed to another worker: the dead one may have read parts of their requests.
 */
export function closeConnectionsInTransit(worker: Worker): void {
  const { process: child } = worker;
  const unacknowledged = new Set<unknown>();
  const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean;
  child.send = (message: unknown, ...others: readonly unknown[]): boolean => {
    if (isClusterMessage(message) && message.act === 'newconn') unacknowledged.add(message.seq);
    return send(message, ...others);
  };
  child.on('internalMessage', (message: unknown) => {
    if (isClusterMessage(message) && message.ack !== undefined) unacknowledged.delete(message.ack);
  });
  // `close` follows the last message of the worker. `exit` may precede it, and `disconnect` is missing when a descriptor is
  // in transit.
  child.once('close', () => {
    // Without `disconnect`, Node would continue to pass connections to this worker.
    worker.disconnect();
    for (const ack of unacknowledged) child.emit('internalMessage', { cmd: clusterCommand, ack, accepted: true });
    unacknowledged.clear();
  });
}

interface ClusterMessage {
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

function isClusterMessage(given: unknown): given is ClusterMessage {
  return typeof given === 'object' && given !== null && 'cmd' in given && given.cmd === clusterCommand;
}
