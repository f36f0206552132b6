// Reads what `/__metrics__` answers, for tests: samples by name and labels.

export interface Scrape {
  readonly text: string;
  /** The value of the one sample with this name and at least these labels; `undefined` when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** The labels of all samples of this name. */
  labels(name: string): readonly Readonly<Record<string, string>>[];
  /** `counter`, `gauge`, `histogram`, `summary`. */
  type(name: string): string | undefined;
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** @throws Error for a line that Prometheus would not understand, or a sample that is there twice */
export function parseExposition(text: string): Scrape {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  const seen = new Set<string>();
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\w+)$/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match === null) throw new Error(`no sample: ${line}`);
    const key = line.slice(0, line.lastIndexOf(' '));
    if (seen.has(key)) throw new Error(`twice: ${key}`);
    seen.add(key);
    const pairs = [...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
    const labels = Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
    samples.push({ name: match[1]!, labels, value: match[3] === '+Inf' ? Infinity : Number(match[3]) });
  }
  const find = (name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] =>
    samples.filter((one) => one.name === name && Object.entries(labels).every(([key, of]) => one.labels[key] === of));
  return {
    text,
    value(name, labels) {
      const found = find(name, labels);
      if (found.length > 1) throw new Error(`several samples of ${name} ${JSON.stringify(labels)}`);
      return found[0]?.value;
    },
    labels: (name) => find(name).map((one) => one.labels),
    type: (name) => types.get(name),
  };
}
