// Load shedding: when the process is overloaded, a share of the requests is refused at once, so that the others are completed
// in time.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from '../contracts/logger.ts';
import type { Observer, Overload } from '../contracts/observer.ts';

export interface LoadShedderOptions {
  /** Maximum number of concurrent requests; 0 means unlimited. */
  readonly maxUnderWay: number;
  /** Maximum number of concurrent requests of one client network; 0 means unlimited. */
  readonly maxOfAddress: number;
  /** Maximum delay of the event loop in milliseconds; 0 means unlimited. */
  readonly maxDelayMs: number;
  /** Paths that are never refused. */
  readonly vitalPaths: ReadonlySet<string>;
  readonly logger: Logger;
  /** Receives the delay of the event loop; absent: none. */
  readonly observer?: Observer | undefined;
}

const sampleMs = 500;
/** Interval of the measurements of the event loop. */
const resolutionMs = 20;
/** Consecutive late samples before requests are refused: a single one may be a large request or a garbage collection. */
const lateSamplesToAct = 2;
/** Change of the refused share per sample. */
const step = 0.25;
/** Samples without refusals after which the overload is over. */
const calmSamples = 10;

export class LoadShedder {
  readonly #options: LoadShedderOptions;
  #underWay = 0;
  /** Concurrent requests by network. */
  readonly #ofAddress = new Map<string, number>();
  #refused = 0;
  #refusedBefore = 0;
  #lateSamples = 0;
  #calmSamples = 0;
  /** Refused share of the requests, from 0 to 1. */
  #refusedPart = 0;
  /** Fraction of a refusal that is due. */
  #owed = 0;
  #stop: (() => void) | undefined;

  constructor(options: LoadShedderOptions) {
    this.#options = options;
  }

  /** Starts measuring the event loop. */
  start(): void {
    const { maxUnderWay, maxDelayMs, observer } = this.#options;
    if (maxUnderWay === 0 && maxDelayMs === 0 && observer === undefined) return;
    const delays = monitorEventLoopDelay({ resolution: resolutionMs });
    if (maxDelayMs > 0 || observer !== undefined) delays.enable();
    const timer = setInterval(() => {
      // None may have happened since the last sample.
      if (delays.count > 0) {
        const meanMs = delayOf(delays.mean);
        this.noteDelay(meanMs);
        observer?.observe({ kind: 'event-loop', meanMs, maxMs: delayOf(delays.max) });
      }
      delays.reset();
      this.#report();
    }, sampleMs).unref();
    this.#stop = () => {
      clearInterval(timer);
      delays.disable();
    };
  }

  stop(): void {
    this.#stop?.();
  }

  /**
   * Returns why a request is refused now, or `undefined`.
   *
   * @param address group of client addresses
   */
  findOverload(target: string, address: string): Overload | undefined {
    const { maxUnderWay, maxOfAddress } = this.#options;
    const isFull =
      (maxUnderWay > 0 && this.#underWay >= maxUnderWay) ||
      (maxOfAddress > 0 && (this.#ofAddress.get(address) ?? 0) >= maxOfAddress);
    if ((!isFull && this.#refusedPart === 0) || this.#isVital(target)) return undefined;
    if (isFull) return this.#refuse('requests');
    // Refusals are spread evenly.
    this.#owed += this.#refusedPart;
    if (this.#owed < 1) return undefined;
    this.#owed -= 1;
    return this.#refuse('delay');
  }

  begin(address: string): void {
    this.#underWay++;
    this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? 0) + 1);
  }

  end(address: string): void {
    this.#underWay--;
    const left = (this.#ofAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#ofAddress.delete(address);
    else this.#ofAddress.set(address, left);
  }

  /** Takes a sample: the average delay of the event loop since the last one. */
  noteDelay(milliseconds: number): void {
    const { maxDelayMs } = this.#options;
    const isLate = maxDelayMs > 0 && milliseconds > maxDelayMs;
    this.#lateSamples = isLate ? this.#lateSamples + 1 : 0;
    if (!isLate) this.#refusedPart = Math.max(0, this.#refusedPart - step);
    else if (this.#lateSamples >= lateSamplesToAct) this.#refusedPart = Math.min(1, this.#refusedPart + step);
  }

  #isVital(target: string): boolean {
    const mark = target.indexOf('?');
    return this.#options.vitalPaths.has(mark === -1 ? target : target.slice(0, mark));
  }

  #refuse(reason: Overload): Overload {
    this.#refused++;
    return reason;
  }

  /** Logs begin and end of an overload only: a line per refusal would add load. */
  #report(): void {
    const { logger } = this.#options;
    const isRefusing = this.#refused > this.#refusedBefore;
    this.#refusedBefore = this.#refused;
    if (isRefusing) {
      if (this.#calmSamples === 0) this.#reportBegin();
      this.#calmSamples = calmSamples;
    } else if (this.#calmSamples > 0 && --this.#calmSamples === 0) {
      logger.warn({ refused: this.#refused }, 'The service is no longer overloaded');
      this.#refused = 0;
      this.#refusedBefore = 0;
    }
  }

  #reportBegin(): void {
    const fields = { underWay: this.#underWay, refusedPart: this.#refusedPart };
    this.#options.logger.warn(fields, 'The service is overloaded and refuses requests with 503');
  }
}

/** Returns the delay in the time between two measurements, which is in nanoseconds. */
function delayOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - resolutionMs);
}
