// Metric sink that formats StatsD lines: names with dots, labels appended as `.label.value`.
import type { Labels, MetricSink } from '../../observability/metrics/sink.ts';

export class StatsdSink implements MetricSink {
  readonly #prefix: string;
  readonly #send: (line: string) => void;

  /** @param prefix without dot at its end */
  constructor(prefix: string, send: (line: string) => void) {
    this.#prefix = prefix;
    this.#send = send;
  }

  count(name: string, labels: Labels, times = 1): void {
    this.#send(`${this.#name(name, labels)}:${times}|c`);
  }

  /** Sends a set member. The server counts distinct members. */
  countUnique(name: string, labels: Labels): void {
    this.#send(`${this.#name(name, {})}:${format(labels)}|s`);
  }

  time(name: string, labels: Labels, milliseconds: number): void {
    this.#send(`${this.#name(name, labels)}:${round(milliseconds)}|ms`);
  }

  measure(name: string, labels: Labels, value: number): void {
    this.gauge(name, labels, value);
  }

  gauge(name: string, labels: Labels, value: number): void {
    this.#send(`${this.#name(name, labels)}:${value}|g`);
  }

  #name(name: string, labels: Labels): string {
    const dotted = `${this.#prefix}.${name.replaceAll('_', '.')}`;
    const appended = format(labels);
    return appended === '' ? dotted : `${dotted}.${appended}`;
  }
}

/** Formats labels. Those without a value are omitted, because a name cannot have an empty part. */
function format(labels: Labels): string {
  return Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}.${clean(value)}`)
    .join('.');
}

/** Replaces characters with a meaning in StatsD lines. */
function clean(value: string): string {
  return value.replaceAll(':', '').replaceAll(/[^\w~()+-]/g, '_');
}

/** Rounds to microseconds, because fast backends respond in less than a millisecond. */
function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
