// The figures of one process, from the stream of observations: requests by status, durations, delay of the event loop, live
// streams. All in memory of a fixed size.
import type { Clock } from '../../base/clock.ts';
import type { EventLoopObservation, Observation, RequestObservation } from '../../contracts/observer.ts';
import { bucketOf, DurationHistogram, type DurationCounts } from './duration-histogram.ts';
import { TimeRing } from './time-ring.ts';

/** Classes of statuses, by the first digit less one. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
type ClassCounts = readonly number[];

/** The rings by their name in the overview. */
export const ringSizes = {
  hour: { stepMs: 10_000, steps: 360 },
  day: { stepMs: 600_000, steps: 144 },
} as const;
export type RingName = keyof typeof ringSizes;
export const ringNames = Object.keys(ringSizes) as readonly RingName[];

interface LoopDelay {
  readonly sumMs: number;
  readonly count: number;
  readonly maxMs: number;
}

class StepFigures {
  readonly classes: number[] = statusClasses.map(() => 0);
  readonly durations = new DurationHistogram();
  loop: LoopDelay = { sumMs: 0, count: 0, maxMs: 0 };
  rssBytes: number | null = null;
  liveStreams: number | null = null;
}

/** Figures of a step that can be sent to another process. */
export interface StepReport {
  readonly index: number;
  readonly classes: ClassCounts;
  readonly durations: DurationCounts;
  readonly loop: LoopDelay;
  readonly rssBytes: number | null;
  readonly liveStreams: number | null;
}

/** Figures of a process that can be sent to another process. */
export interface ProcessReport {
  readonly pid: number;
  readonly worker: number | null;
  readonly started: number;
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly heapTotal: number };
  readonly classes: ClassCounts;
  readonly live: { readonly streams: number; readonly polls: number };
  readonly rings: Readonly<Record<RingName, readonly StepReport[]>>;
}

export class Figures {
  readonly #clock: Clock;
  readonly #started: number;
  readonly #worker: number | null;
  readonly #classes: number[] = statusClasses.map(() => 0);
  readonly #open = { sse: 0, poll: 0 };
  readonly #rings: Readonly<Record<RingName, TimeRing<StepFigures>>>;
  readonly #all: readonly TimeRing<StepFigures>[];

  /** @param worker number of the worker; `null` for a single process */
  constructor(clock: Clock, worker: number | null) {
    this.#clock = clock;
    this.#started = clock.now();
    this.#worker = worker;
    const create = (): StepFigures => new StepFigures();
    this.#rings = {
      hour: new TimeRing({ ...ringSizes.hour, create }),
      day: new TimeRing({ ...ringSizes.day, create }),
    };
    this.#all = [this.#rings.hour, this.#rings.day];
  }

  /** @param now milliseconds since 1970 UTC */
  observe(observation: Observation, now: number): void {
    if (observation.kind === 'request') this.#addRequest(observation, now);
    else if (observation.kind === 'event-loop') this.#addDelay(observation, now);
    else if (observation.kind === 'live' && observation.event !== 'sent') {
      this.#open[observation.transport] = observation.open;
    }
  }

  #addRequest({ status, milliseconds }: RequestObservation, now: number): void {
    const place = Math.floor(status / 100) - 1;
    const bucket = bucketOf(milliseconds);
    this.#classes[place]!++;
    for (const ring of this.#all) {
      const step = ring.at(now);
      step.classes[place]!++;
      step.durations.add(milliseconds, bucket);
    }
  }

  #addDelay({ meanMs, maxMs }: EventLoopObservation, now: number): void {
    const rssBytes = process.memoryUsage.rss();
    for (const ring of this.#all) {
      const step = ring.at(now);
      const { sumMs, count, maxMs: highest } = step.loop;
      step.loop = { sumMs: sumMs + meanMs, count: count + 1, maxMs: Math.max(highest, maxMs) };
      step.rssBytes = rssBytes;
      step.liveStreams = this.#open.sse + this.#open.poll;
    }
  }

  report(): ProcessReport {
    const now = this.#clock.now();
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const ring = (name: RingName): readonly StepReport[] =>
      this.#rings[name].until(now).map(({ index, value: { classes, durations, loop, rssBytes, liveStreams } }) => ({
        index,
        classes: [...classes],
        durations: durations.counts,
        loop,
        rssBytes,
        liveStreams,
      }));
    return {
      pid: process.pid,
      worker: this.#worker,
      started: this.#started,
      memory: { rss, heapUsed, heapTotal },
      classes: [...this.#classes],
      live: { streams: this.#open.sse, polls: this.#open.poll },
      rings: { hour: ring('hour'), day: ring('day') },
    };
  }
}
