// Caches the permission checks of a unit of work. A batch makes the same few checks for each of its entries. A result is
// dropped when the unit changes an entry that it depends on.
import type { BoundPermission } from '../../contracts/permission.ts';

interface Check {
  readonly objectIds: readonly string[];
  readonly answer: Promise<boolean>;
}

export class KnownChecks {
  /** By the array of principals, which is the same one throughout a request, and the text of the check. */
  readonly #checks = new Map<readonly string[], Map<string, Check>>();

  /** Returns the result of an earlier check, or runs the check. */
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

  /** Drops the checks that depend on entries of these objects. */
  forget(objectIds: readonly string[]): void {
    for (const ofPrincipals of this.#checks.values()) {
      for (const [key, check] of ofPrincipals) {
        if (check.objectIds.some((id) => objectIds.includes(id))) ofPrincipals.delete(key);
      }
    }
  }

  /** Drops all checks, when the changed entries are unknown. */
  forgetAll(): void {
    this.#checks.clear();
  }
}
