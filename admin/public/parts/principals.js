// Hints about unknown principals: misspelt user ids, groups and accounts that do not exist. The service accepts any text as
// a principal, so these are only hints and do not prevent saving.
import { fill, h } from '../dom.js';

const wellKnown = new Set(['system.Everyone', 'system.Authenticated']);
/** Maximum number of principals that are checked. */
const maxChecked = 50;

/**
 * Returns why the text cannot be a principal, judging only by its form; `undefined` for a known form.
 *
 * @param {string} principal
 * @param {ReadonlySet<string>} capabilities of the service
 * @returns {string | undefined}
 */
export function faultOfForm(principal, capabilities) {
  if (wellKnown.has(principal)) return undefined;
  if (principal.startsWith('system.')) return 'is neither system.Everyone nor system.Authenticated';
  if (principal.startsWith('/')) {
    return groupPath(principal) === undefined ? 'is not the URI of a group (/buckets/…/groups/…)' : undefined;
  }
  if (!principal.includes(':')) return 'lacks the prefix of user ids, such as account: or basicauth:';
  const isBasic = capabilities.has('basicauth') && principal.startsWith('basicauth:');
  if (isBasic && !/^basicauth:[\da-f]{64}$/.test(principal)) return 'is not a Basic user id (64 hexadecimal digits)';
  return undefined;
}

/** @param {string} principal @returns {string | undefined} the path of the group below the API */
function groupPath(principal) {
  const [, bucket, group] = /^\/buckets\/([^/]+)\/groups\/([^/]+)$/.exec(principal) ?? [];
  if (bucket === undefined || group === undefined) return undefined;
  return `buckets/${encodeURIComponent(bucket)}/groups/${encodeURIComponent(group)}`;
}

/**
 * Checks whether principals exist, as far as the caller may read them. Results are cached for the lifetime of the view.
 *
 * @param {import('../context.js').Context} context
 * @returns {(principal: string) => Promise<string | undefined>}
 */
export function principalCheck({ api, service }) {
  /** @type {Map<string, Promise<string | undefined>>} */
  const known = new Map();
  /** @param {string} path @param {string} what */
  const findMissing = async (path, what) => {
    const { status } = await api.request('HEAD', path, { allowed: [400, 401, 403, 404] });
    return status === 404 ? `names ${what} that does not exist` : undefined;
  };
  /** @param {string} principal */
  const find = async (principal) => {
    const fault = faultOfForm(principal, service.capabilities);
    if (fault !== undefined) return fault;
    const group = groupPath(principal);
    if (group !== undefined) return findMissing(group, 'a group');
    if (!service.capabilities.has('accounts') || !principal.startsWith('account:')) return undefined;
    return findMissing(`accounts/${encodeURIComponent(principal.slice('account:'.length))}`, 'an account');
  };
  return (principal) => {
    let fault = known.get(principal);
    if (fault === undefined) {
      // No hint when the check fails.
      fault = find(principal).catch(() => undefined);
      known.set(principal, fault);
    }
    return fault;
  };
}

/**
 * Creates a list of hints with a function that updates it.
 *
 * @param {(principal: string) => Promise<string | undefined>} check
 * @returns {{ readonly element: HTMLElement, readonly show: (principals: readonly string[]) => Promise<void> }}
 */
export function principalHints(check) {
  const element = h('div', { class: 'doubts', role: 'status' });
  let asked = 0;
  return {
    element,
    show: async (principals) => {
      asked += 1;
      const question = asked;
      const checked = principals.slice(0, maxChecked);
      const faults = await Promise.all(checked.map(check));
      // Ignores results for a text that has changed meanwhile.
      if (question !== asked) return;
      const doubts = checked.flatMap((principal, index) => {
        const fault = faults[index];
        return fault === undefined ? [] : [h('p', { class: 'note' }, `${principal} ${fault}.`)];
      });
      fill(element, doubts);
    },
  };
}
