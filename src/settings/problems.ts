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
  return `${name ?? ''}${value}${place}: ${message}`;
}
