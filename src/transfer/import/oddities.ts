// Counts imported objects that the HTTP API would refuse, and names the first ones.
import type { Oddity } from './api-rules.ts';

const sentences: Readonly<Record<Oddity, string>> = {
  id: 'ids that this configuration does not accept, so no request reaches these objects unless an id generator of a plugin accepts them',
  permission: 'permissions with unknown names, which grant nothing unless a plugin adds them',
  member: 'members that cannot be in a group (not a text, empty, system.Everyone or a group), which get no membership',
};
const maxNamed = 5;

/** Numbers and first URIs by oddity. */
export class Oddities {
  readonly #found = new Map<Oddity, { count: number; readonly uris: string[] }>();

  add(oddity: Oddity, uri: string): void {
    this.#addAll(oddity, 1, [uri]);
  }

  merge(others: Oddities): void {
    for (const [oddity, { count, uris }] of others.#found) this.#addAll(oddity, count, uris);
  }

  /** Returns one sentence for each kind of oddity. */
  notes(): readonly string[] {
    return Array.from(this.#found, ([oddity, { count, uris }]) => {
      const more = count > uris.length ? ', …' : '';
      return `${count} imported ${count === 1 ? 'object has' : 'objects have'} ${sentences[oddity]}: ${uris.join(', ')}${more}`;
    });
  }

  #addAll(oddity: Oddity, count: number, uris: readonly string[]): void {
    const found = this.#found.get(oddity) ?? { count: 0, uris: [] };
    this.#found.set(oddity, found);
    found.count += count;
    found.uris.push(...uris.slice(0, maxNamed - found.uris.length));
  }
}
