// Converts observations to metrics and their labels, for all metrics systems. The names are those of Kinto, for which
// dashboards exist.
import type {
  Answered,
  LiveObservation,
  Observation,
  Observer,
  OperationObservation,
  Overload,
  RequestObservation,
} from '../../contracts/observer.ts';
import { BackendError, BackendUnavailable } from '../../contracts/errors.ts';
import { LabelLimit, type LabelLimits } from './label-limit.ts';
import type { Labels, MetricSink } from './sink.ts';

export interface MetricsOptions {
  /** Names of ids in paths that become labels. */
  readonly idLabels: readonly string[];
  readonly limits: LabelLimits;
}

/** Returns an observer that writes to the sink. */
export function metricsObserver(sink: MetricSink, { idLabels, limits }: MetricsOptions): Observer {
  const limit = new LabelLimit(limits);
  // These labels are reserved, even if the setting lists them.
  const ids = idLabels.filter((name) => !['method', 'endpoint', 'status'].includes(name));
  const requests = new RequestMetrics(sink, limit, ids, limits.series);
  const operations = new OperationMetrics(sink);
  return {
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'request':
          return requests.add(observation);
        case 'operation':
          return operations.add(observation);
        case 'lookup':
          return sink.count(observation.isHit ? 'cache_hits' : 'cache_misses', none);
        case 'authentication': {
          const name = `authentication_${nameOf(observation.policy)}_seconds`;
          return sink.time(name, authenticate, observation.milliseconds);
        }
        case 'retry':
          return sink.count('transaction_retries', none);
        case 'overload':
          return sink.count('requests_refused', overloads[observation.reason]);
        case 'timing':
          return sink.time(`${observation.part}_${nameOf(observation.name)}_seconds`, none, observation.milliseconds);
        case 'live':
          return countLive(sink, observation);
        case 'refusal': // counted as a request
        case 'event-loop': // measured by the metrics systems themselves
          return;
      }
    },
  };
}

// Frequent labels are shared objects, so that a sink can cache by identity.
const none: Labels = {};
const authenticate: Labels = { method: 'authenticate' };
const overloads: Readonly<Record<Overload, Labels>> = {
  requests: { reason: 'requests' },
  delay: { reason: 'delay' },
  memory: { reason: 'memory' },
};

function countLive(sink: MetricSink, observation: LiveObservation): void {
  if (observation.event === 'sent') {
    const { frames, resyncs, lagMs } = observation;
    sink.count('live_frames', none, frames);
    if (resyncs > 0) sink.count('live_resyncs', none, resyncs);
    if (lagMs !== undefined) sink.time('live_lag_seconds', none, lagMs);
    return;
  }
  const { transport, open } = observation;
  sink.gauge('live_streams', { transport }, open);
  if (observation.event === 'ended') sink.count('live_streams_ended', { transport, reason: observation.reason });
}

interface RequestLabels {
  readonly withStatus: Labels;
  readonly withoutStatus: Labels;
}

class RequestMetrics {
  readonly #sink: MetricSink;
  readonly #limit: LabelLimit;
  readonly #ids: readonly string[];
  readonly #maxKnown: number;
  readonly #known = new Map<string, RequestLabels>();

  constructor(sink: MetricSink, limit: LabelLimit, ids: readonly string[], maxKnown: number) {
    this.#sink = sink;
    this.#limit = limit;
    this.#ids = ids;
    this.#maxKnown = maxKnown;
  }

  add(request: RequestObservation): void {
    const sink = this.#sink;
    const { withStatus, withoutStatus } = this.#labelsOf(request);
    sink.count('request_summary', withStatus);
    sink.time('request_duration_seconds', withoutStatus, request.milliseconds);
    sink.measure('request_size', withoutStatus, request.responseBytes);
    this.#addUser(request);
    if (request.entries === undefined) return;
    sink.measure('batch_size', none, request.entries.length);
    for (const entry of request.entries) {
      const of = { method: entry.method.toLowerCase(), endpoint: endpointOf(entry), status: String(entry.status) };
      sink.count('batch_entries', of);
    }
  }

  #addUser({ userId }: RequestObservation): void {
    if (userId === undefined) return;
    const colon = userId.indexOf(':');
    const auth = userId.slice(0, colon);
    this.#sink.count('authentication', { type: auth });
    const user = this.#limit.bound('users', { userid: userId.slice(colon + 1) }, { auth });
    this.#sink.countUnique('users', { auth, ...user });
  }

  #labelsOf(request: RequestObservation): RequestLabels {
    const { method, ids, status } = request;
    const endpoint = endpointOf(request);
    let key = `${method}\n${endpoint}\n${status}`;
    if (status < 400) for (const name of this.#ids) key += `\n${ids[name] ?? ''}`;
    let labels = this.#known.get(key);
    if (labels === undefined) {
      const place = { method: method.toLowerCase(), endpoint };
      const fixed = { ...place, status: String(status) };
      const withoutStatus = { ...place, ...this.#limit.bound('request', this.#idsOf(request), fixed) };
      labels = { withoutStatus, withStatus: { ...withoutStatus, status: String(status) } };
      if (this.#known.size < this.#maxKnown) this.#known.set(key, labels);
    }
    return labels;
  }

  /** Returns the id labels; empty for errors, where ids are arbitrary text. */
  #idsOf({ ids, status }: Answered): Labels {
    return Object.fromEntries(this.#ids.map((name) => [name, status < 400 ? (ids[name] ?? '') : '']));
  }
}

const operationNames = {
  storage: 'backend_storage_seconds',
  permission: 'backend_permission_seconds',
  cache: 'backend_cache_seconds',
} as const;

class OperationMetrics {
  readonly #sink: MetricSink;
  readonly #labels = new Map<string, Labels>();

  constructor(sink: MetricSink) {
    this.#sink = sink;
  }

  add({ backend, method, milliseconds, error }: OperationObservation): void {
    let labels = this.#labels.get(method);
    if (labels === undefined) this.#labels.set(method, (labels = { method }));
    this.#sink.time(operationNames[backend], labels, milliseconds);
    if (error === undefined || (error instanceof BackendError && !(error instanceof BackendUnavailable))) return;
    this.#sink.count('backend_failures', { backend, method });
  }
}

function endpointOf({ endpoint, status }: Answered): string {
  return endpoint ?? (status === 404 ? 'unknown' : 'unnamed');
}

/** Returns a policy or listener name in a form for names of metrics. */
function nameOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
}
