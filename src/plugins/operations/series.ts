// The series of the overview: figures of all processes and of the stores by step, as columns of equal length.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ListParent } from '../../core/objects/uris.ts';
import { DurationHistogram, round } from './duration-histogram.ts';
import { ringSizes, statusClasses, type ProcessReport, type RingName, type StepReport } from './figures.ts';
import type { StoreFigures, StoreState } from './store-figures.ts';

/** Returns a series, oldest step first. Steps without figures stand for themselves, so that the times are evenly spaced. */
export function formatSeries(name: RingName, processes: readonly ProcessReport[], stores: StoreFigures): JsonObject {
  const { stepMs } = ringSizes[name];
  const steps = groupSteps(processes.map(({ rings }) => rings[name]));
  const states = new Map(stores.steps(name).map(({ index, value }) => [index, value.state] as const));
  const known = [...steps.keys(), ...states.keys()];
  const first = known.reduce((least, index) => Math.min(least, index), Infinity);
  const last = known.reduce((most, index) => Math.max(most, index), -Infinity);
  const indexes = Array.from({ length: known.length === 0 ? 0 : last - first + 1 }, (_, place) => first + place);
  const columns = indexes.map((index) => ({
    index,
    figures: sumSteps(steps.get(index) ?? []),
    state: states.get(index),
  }));
  const column = (read: (row: (typeof columns)[number]) => JsonValue): JsonValue[] => columns.map(read);
  const largest = columns.findLast(({ state }) => state !== undefined)?.state?.largest ?? [];
  return {
    step_seconds: stepMs / 1000,
    time: column(({ index }) => index * stepMs),
    requests: Object.fromEntries(
      statusClasses.map((name_, place) => [name_, column(({ figures }) => figures.classes[place] ?? 0)]),
    ),
    latency_p50_ms: column(({ figures }) => figures.durations.percentile(0.5)),
    latency_p99_ms: column(({ figures }) => figures.durations.percentile(0.99)),
    event_loop_delay_mean_ms: column(({ figures }) => figures.loopMeanMs),
    event_loop_delay_max_ms: column(({ figures }) => figures.loopMaxMs),
    rss_bytes: column(({ figures }) => figures.rssBytes),
    live_streams: column(({ figures }) => figures.liveStreams),
    size_bytes: column(({ state }) => state?.sizeBytes ?? null),
    records: column(({ state }) => (state === undefined ? null : (state.objects.get('record') ?? 0))),
    collections: largest.map(({ uri }) => ({ uri, records: column(({ state }) => recordsOf(state, uri)) })),
  };
}

function recordsOf(state: StoreState | undefined, uri: ListParent): number | null {
  return state?.largest.find((collection) => collection.uri === uri)?.records ?? null;
}

/** Returns the figures of all processes by the number of the step. */
export function groupSteps(rings: readonly (readonly StepReport[])[]): ReadonlyMap<number, readonly StepReport[]> {
  const steps = new Map<number, StepReport[]>();
  for (const step of rings.flat()) {
    const group = steps.get(step.index);
    if (group === undefined) steps.set(step.index, [step]);
    else group.push(step);
  }
  return steps;
}

interface SummedFigures {
  readonly classes: readonly number[];
  readonly durations: DurationHistogram;
  readonly loopMeanMs: number | null;
  readonly loopMaxMs: number | null;
  readonly rssBytes: number | null;
  readonly liveStreams: number | null;
}

/** Adds the figures of several steps or processes. The highest delay of the event loop counts. */
export function sumSteps(steps: readonly StepReport[]): SummedFigures {
  const durations = new DurationHistogram();
  for (const step of steps) durations.merge(step.durations);
  const measured = steps.flatMap(({ loop }) => (loop.count === 0 ? [] : [loop]));
  const highest = (values: readonly number[]): number | null =>
    values.length === 0 ? null : round(Math.max(...values));
  return {
    classes: statusClasses.map((_, place) => sum(steps.map(({ classes }) => classes[place] ?? 0)) ?? 0),
    durations,
    loopMeanMs: highest(measured.map(({ sumMs, count }) => sumMs / count)),
    loopMaxMs: highest(measured.map(({ maxMs }) => maxMs)),
    rssBytes: sum(steps.map(({ rssBytes }) => rssBytes)),
    liveStreams: sum(steps.map(({ liveStreams }) => liveStreams)),
  };
}

/** Adds the known values; `null` if none is known. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}
