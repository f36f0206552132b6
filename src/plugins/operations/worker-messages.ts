// IPC messages of the plugin. The worker that responds to a client asks the primary process, which asks the other workers.
import type { LogQuery } from '../../observability/log-ring.ts';

/** What a process reports about itself. */
export type Question =
  | { readonly of: 'figures' }
  | { readonly of: 'slow' }
  | { readonly of: 'log'; readonly query: LogQuery };

/** Messages of a worker: it can be asked; it asks the others; its report. */
export type FromWorker =
  | { readonly kind: 'operations ready' }
  | { readonly kind: 'operations wanted'; readonly request: number; readonly question: Question }
  | { readonly kind: 'operations report'; readonly round: number; readonly report: unknown };

/** Messages to a worker: a request for its report, and the reports of the others. */
export type ToWorker =
  | { readonly kind: 'send operations'; readonly round: number; readonly question: Question }
  | { readonly kind: 'operations reports'; readonly request: number; readonly reports: readonly unknown[] };

const kinds = ['operations ready', 'operations wanted', 'operations report', 'send operations', 'operations reports'];

/** Returns whether a message is one of the plugin. Other parts of the service send messages on the same channel. */
export function isOperationsMessage(given: unknown): given is FromWorker | ToWorker {
  if (typeof given !== 'object' || given === null || !('kind' in given)) return false;
  return kinds.some((kind) => kind === given.kind);
}
