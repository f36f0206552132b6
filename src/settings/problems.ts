// Problems of settings, reported all at once.

export interface Problem {
  /** Name of the setting as it was written; absent for a problem of a whole file. */
  readonly name?: string | undefined;
  /** The given value; never for secrets. */
  readonly given?: string | undefined;
  /** Position: `coffer.ini line 3`, `environment variable SVC_READONLY`. */
  readonly from?: string | undefined;
  /** The fault or the accepted form. */
  readonly message: string;
}

/** The settings are unusable. The message has one line per problem and contains no secrets. */
export class SettingsError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.name = 'SettingsError';
    this.problems = problems;
  }

  /** One line per problem, without the title. */
  get lines(): readonly string[] {
    return this.problems.map(describeProblem);
  }
}

function describeProblems(problems: readonly Problem[]): string {
  const title = problems.length === 1 ? 'One setting is wrong:' : `${problems.length} settings are wrong:`;
  return [title, ...problems.map((problem) => `  - ${describeProblem(problem)}`)].join('\n');
}

/** Returns one line about a problem. */
export function describeProblem({ name, given, from, message }: Problem): string {
  const value = given === undefined ? '' : ` = ${JSON.stringify(given.length > 80 ? `${given.slice(0, 80)}…` : given)}`;
  const place = from === undefined ? '' : name === undefined ? from : ` (${from})`;
  const subject = `${name ?? ''}${value}${place}`;
  return subject === '' ? message : `${subject}: ${message}`;
}

/** Returns the problems of an error; those of other errors than SettingsError are their message. */
export function problemsOfError(error: unknown): readonly Problem[] {
  if (error instanceof SettingsError) return error.problems;
  return [{ message: error instanceof Error ? error.message : String(error) }];
}

/**
 * Drops repetitions: a problem found by two checks, and the absence of a setting whose unusable text is reported already.
 */
export function withoutRepetitions(problems: readonly Problem[]): readonly Problem[] {
  const given = new Set(problems.flatMap(({ name, from }) => (from === undefined ? [] : [bareKey(name)])));
  const left = problems.filter(
    ({ name, from }) => from !== undefined || name === undefined || !given.has(bareKey(name)),
  );
  return [...new Map(left.map((problem) => [describeProblem(problem), problem])).values()];
}

/** Returns the name of a setting without its prefix. */
export function bareKey(name = ''): string {
  return name.replace(/^(?:svc|kinto)\./, '');
}
