// How much the process has to do, and when it is too much: then a part of the requests is refused at once, so that the
// others are still answered in time and nobody waits for an answer that comes too late to be of use.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from '../contracts/logger.ts';
import type { Overload } from '../contracts/observer.ts';

export interface LoadShedderOptions {
  /** Requests that may be under way at the same time; 0: no limit. */
  readonly maxUnderWay: number;
  /** Milliseconds that the event loop may be late; 0: no limit. */
  readonly maxDelayMs: number;
  /** Paths that are answered all the same. */
  readonly vitalPaths: ReadonlySet<string>;
  readonly logger: Logger;
}

const sampleMs = 500;
/** How often the event loop is looked at in between. */
const resolutionMs = 20;
/** A single late sample may be one large request, or the collection of garbage. */
const lateSamplesToAct = 2;
/** By which the part that is refused grows and shrinks from sample to sample. */
const step = 0.25;
/** Samples without refusals after which it is over. */
const calmSamples = 10;

export class LoadShedder {
  readonly #options: LoadShedderOptions;
  #underWay = 0;
  #refused = 0;
  #refusedBefore = 0;
  #lateSamples = 0;
  #calmSamples = 0;
  /** From 0 to 1. */
  #refusedPart = 0;
  #owed = 0;
  #stop: (() => void) | undefined;

  constructor(options: LoadShedderOptions) {
    this.#options = options;
  }

  /** Looks after the event loop from now on. */
  start(): void {
    const { maxUnderWay, maxDelayMs } = this.#options;
    if (maxUnderWay === 0 && maxDelayMs === 0) return;
    const delays = monitorEventLoopDelay({ resolution: resolutionMs });
    if (maxDelayMs > 0) delays.enable();
    const timer = setInterval(() => {
      // What is measured is the time between looks. None may have happened since the last sample.
      if (delays.count > 0) this.noteDelay(Math.max(0, delays.mean / 1e6 - resolutionMs));
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

  /** Why a request cannot be taken now, if so. */
  findOverload(target: string): Overload | undefined {
    const { maxUnderWay } = this.#options;
    const isFull = maxUnderWay > 0 && this.#underWay >= maxUnderWay;
    if ((!isFull && this.#refusedPart === 0) || this.#isVital(target)) return undefined;
    if (isFull) return this.#refuse('requests');
    // Spread evenly over those who come.
    this.#owed += this.#refusedPart;
    if (this.#owed < 1) return undefined;
    this.#owed -= 1;
    return this.#refuse('delay');
  }

  begin(): void {
    this.#underWay++;
  }

  end(): void {
    this.#underWay--;
  }

  /** How late the event loop was on the average since the last time. */
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

  /** Says when it begins and when it is over: a line for each request would be one more thing to do. */
  #report(): void {
    const { logger } = this.#options;
    const isRefusing = this.#refused > this.#refusedBefore;
    this.#refusedBefore = this.#refused;
    if (isRefusing) {
      if (this.#calmSamples === 0) this.#tellBegin();
      this.#calmSamples = calmSamples;
    } else if (this.#calmSamples > 0 && --this.#calmSamples === 0) {
      logger.warn({ refused: this.#refused }, 'The service is no longer overloaded');
      this.#refused = 0;
      this.#refusedBefore = 0;
    }
  }

  #tellBegin(): void {
    const fields = { underWay: this.#underWay, refusedPart: this.#refusedPart };
    this.#options.logger.warn(fields, 'The service is overloaded, and refuses requests with 503');
  }
}
