// What is wrong with the settings, collected and told all at once.

export interface Problem {
  /** The setting, as it was written; absent when a whole file is at fault. */
  readonly name?: string | undefined;
  /** The value given; never for secrets. */
  readonly given?: string | undefined;
  /** Where it came from: `coffer.ini line 3`, `environment variable SVC_READONLY`. */
  readonly from?: string | undefined;
  /** What is wrong, or what was expected. */
  readonly message: string;
}

/** The settings cannot be used. The message names every problem on a line of its own and holds no secrets. */
export class SettingsError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.name = 'SettingsError';
    this.problems = problems;
  }

  /** Each problem in a line of its own, without the title. */
  get lines(): readonly string[] {
    return this.problems.map(describeProblem);
  }
}

function describeProblems(problems: readonly Problem[]): string {
  const title = problems.length === 1 ? 'One setting is wrong:' : `${problems.length} settings are wrong:`;
  return [title, ...problems.map((problem) => `  - ${describeProblem(problem)}`)].join('\n');
}

/** One line about one problem. */
export function describeProblem({ name, given, from, message }: Problem): string {
  const value = given === undefined ? '' : ` = ${JSON.stringify(given.length > 80 ? `${given.slice(0, 80)}…` : given)}`;
  const place = from === undefined ? '' : name === undefined ? from : ` (${from})`;
  const subject = `${name ?? ''}${value}${place}`;
  return subject === '' ? message : `${subject}: ${message}`;
}

/** Returns what an error says about the settings: its problems, or its message as one. */
export function problemsOfError(error: unknown): readonly Problem[] {
  if (error instanceof SettingsError) return error.problems;
  return [{ message: error instanceof Error ? error.message : String(error) }];
}

/**
 * Drops repetitions: a problem that two checks found, and the absence of a setting whose text could not be used, which
 * is reported already.
 */
export function withoutRepetitions(problems: readonly Problem[]): readonly Problem[] {
  const given = new Set(problems.flatMap(({ name, from }) => (from === undefined ? [] : [keyOf(name)])));
  const left = problems.filter(({ name, from }) => from !== undefined || name === undefined || !given.has(keyOf(name)));
  return [...new Map(left.map((problem) => [describeProblem(problem), problem])).values()];
}

/** The name of a setting without its prefix. */
function keyOf(name = ''): string {
  return name.replace(/^(?:svc|kinto)\./, '');
}
