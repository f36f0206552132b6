// Permission checks that a unit of work has made already. A batch asks the same few questions for each of its entries;
// the unit remembers the answers until it changes an entry that they rest on itself.
import type { BoundPermission } from '../../contracts/permission.ts';

interface Check {
  readonly objectIds: readonly string[];
  readonly answer: Promise<boolean>;
}

export class KnownChecks {
  /** By the list of principals, of which a request has one for each caller, and the text of the question. */
  readonly #checks = new Map<readonly string[], Map<string, Check>>();

  /** The answer given before, or that of the question asked now. */
  find(
    principals: readonly string[],
    bound: readonly BoundPermission[],
    ask: () => Promise<boolean>,
  ): Promise<boolean> {
    const key = bound.map(({ objectId, permission }) => `${permission} ${objectId}`).join('\n');
    let ofPrincipals = this.#checks.get(principals);
    if (ofPrincipals === undefined) this.#checks.set(principals, (ofPrincipals = new Map<string, Check>()));
    const known = ofPrincipals.get(key);
    if (known !== undefined) return known.answer;
    const answer = ask();
    ofPrincipals.set(key, { objectIds: bound.map(({ objectId }) => objectId), answer });
    return answer;
  }

  /** The entries of these objects change. */
  forget(objectIds: readonly string[]): void {
    for (const ofPrincipals of this.#checks.values()) {
      for (const [key, check] of ofPrincipals) {
        if (check.objectIds.some((id) => objectIds.includes(id))) ofPrincipals.delete(key);
      }
    }
  }

  /** Entries change that nobody lists. */
  forgetAll(): void {
    this.#checks.clear();
  }
}
