// The answer of `operations/settings`, and the search in it.
export interface Setting {
  readonly name: string;
  /** The text as in a configuration file; `null` if it is not set or hidden. */
  readonly value: string | null;
  readonly is_hidden: boolean;
  readonly source: string;
  /** The line of the file, or the name of the variable. */
  readonly place: string | null;
  readonly section: string | null;
  readonly description: string | null;
  readonly default: string | null;
}

export function readSettings(text: string): readonly Setting[] {
  return (JSON.parse(text) as { readonly data: readonly Setting[] }).data;
}

export function isChanged({ source }: Setting): boolean {
  return source !== 'default';
}

/** Returns the settings whose texts contain all words. */
export function findSettings(settings: readonly Setting[], text: string): readonly Setting[] {
  const words = wordsOf(text);
  return settings.filter((setting) => {
    const all = Object.values(setting).join(' ').toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Returns the settings of each section; those without a section are the last ones. */
export function bySection(settings: readonly Setting[]): readonly (readonly [string, readonly Setting[]])[] {
  const sections = new Map<string, Setting[]>();
  for (const setting of settings.toSorted((a, b) => Number(a.section === null) - Number(b.section === null))) {
    const name = setting.section ?? 'Further settings';
    const known = sections.get(name);
    if (known === undefined) sections.set(name, [setting]);
    else known.push(setting);
  }
  return [...sections];
}

/** Returns the words of a search. */
export function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}
