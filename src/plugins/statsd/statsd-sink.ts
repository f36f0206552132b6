// Metrics as lines of StatsD: names with dots, labels appended as `.label.value`.
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

  /** A set: whoever keeps it counts distinct members. */
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

/** Labels without a value are left out, since a name cannot have an empty part. */
function format(labels: Labels): string {
  return Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${label}.${clean(value)}`)
    .join('.');
}

/** Colons end names, dots divide them, and the rest means something else in a line. */
function clean(value: string): string {
  return value.replaceAll(':', '').replaceAll(/[^\w~()+-]/g, '_');
}

/** Fractions of a millisecond count where a backend is fast. */
function round(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
