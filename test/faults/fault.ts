// What may happen to a backend, and the place in which it happens: a service, its server, and the network in between.
import type { Backend, Workspace } from '../support/server-process.ts';
import { type TcpProxy } from '../support/tcp-proxy.ts';

export interface Place {
  /** Environment of the service, which reaches its server through the network. */
  readonly environment: Readonly<Record<string, string>>;
  readonly network: TcpProxy;
  readonly workspace: Workspace;
  readonly faults: readonly Fault[];
  remove(): Promise<void>;
}

export type Kind = 'storage' | 'permission' | 'cache';

export interface Fault {
  readonly name: string;
  strike(): unknown;
  mend(): unknown;
  /** What the log says about it. */
  readonly reason: RegExp;
  /** The backends that are ill meanwhile; all of them unless it is said. */
  readonly ill?: readonly Kind[];
  /** Whether reads go on. */
  readonly isReadable?: boolean;
}

/** Times short enough for tests. */
export const limits = { poolSeconds: 1, statementSeconds: 0.6, lockSeconds: 0.4, heartbeatSeconds: 1 } as const;

/** How long a request may take at most: for a connection, for the right to one, and for one statement. */
export const answerLimitMs = 4500;

/** Settings of a service whose server is reached at that address. */
export function environmentFor(workspace: Workspace, backend: Backend, url: string): Record<string, string> {
  const perKind = ['STORAGE', 'PERMISSION', 'CACHE'].flatMap((kind) => [
    [`SVC_${kind}_POOL_TIMEOUT`, String(limits.poolSeconds)],
    [`SVC_${kind}_POOL_SIZE`, '4'],
    [`SVC_${kind}_MAX_OVERFLOW`, '2'],
  ]);
  return {
    ...workspace.environment(backend, url),
    ...Object.fromEntries(perKind),
    SVC_POSTGRESQL_STATEMENT_TIMEOUT_SECONDS: String(limits.statementSeconds),
    SVC_POSTGRESQL_LOCK_TIMEOUT_SECONDS: String(limits.lockSeconds),
    SVC_HEARTBEAT_TIMEOUT_SECONDS: String(limits.heartbeatSeconds),
    SVC_RETRY_AFTER_SECONDS: '1',
  };
}

/** Faults of any network. */
export function networkFaults(network: TcpProxy): readonly Fault[] {
  return [
    {
      name: 'cannot be reached: connections are refused',
      strike: () => network.refuse(),
      mend: () => network.mend(),
      reason: /cannot be reached \(ECONN|connection broke \(ECONN/,
    },
    {
      name: 'cannot be reached: nothing comes back',
      strike: () => network.fallSilent(),
      mend: () => network.mend(),
      reason: /in time|no answer within|cannot be reached/,
    },
  ];
}
