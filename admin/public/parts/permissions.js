// The permissions of an object: one field for each permission, one principal on each line.
import { button, field, form, h } from '../dom.js';
import { attempts } from '../context.js';
import { pathOf } from '../places.js';
import { principalCheck, principalHints } from './principals.js';

const hints = new Map([
  ['read', 'may read this and everything in it'],
  ['write', 'may read, change and delete this and everything in it'],
  ['collection:create', 'may create collections'],
  ['group:create', 'may create groups'],
  ['record:create', 'may create records'],
]);

const wellKnown = new Map([
  ['system.Everyone', 'Add everyone'],
  ['system.Authenticated', 'Add everyone signed in'],
]);

/**
 * Creates the editor of the permissions of an object.
 *
 * @param {import('../context.js').Context} context
 * @param {import('../objects.js').StoredObject} object
 * @returns {HTMLElement}
 */
export function permissionsEditor(context, object) {
  const { api, route, service } = context;
  const kind = route.place.at(-1)?.kind;
  if (object.permissions.size === 0) {
    return h('p', { class: 'empty' }, 'Only users with write permission on this object itself see its permissions.');
  }
  const names = [...new Set([...(kind?.permissions ?? []), ...object.permissions.keys()])];
  const areas = names.map((name) => ({ name, area: principalsArea(object.permissions.get(name) ?? []) }));
  const before = JSON.stringify(areas.map(({ area }) => area.value));
  context.guard(
    () => JSON.stringify(areas.map(({ area }) => area.value)) !== before && areas[0]?.area.isConnected === true,
  );
  const check = principalCheck(context);
  const { element: failures, attempt } = attempts();
  const save = () =>
    attempt(async () => {
      const permissions = Object.fromEntries(areas.map(({ name, area }) => [name, linesOf(area.value)]));
      const body = JSON.stringify({ permissions });
      await api.request('PATCH', pathOf(route.place), { body, headers: { 'If-Match': object.etag } });
      context.say('Permissions saved.');
      context.guard(() => false);
      context.reload();
    });
  return form(
    save,
    { class: 'permissions' },
    h(
      'p',
      { class: 'hint' },
      'One principal on each line: a user id, a group (/buckets/…/groups/…), system.Authenticated or system.Everyone.',
      service.userId === undefined ? undefined : ` You are ${service.userId}, and stay a writer of what you change.`,
    ),
    ...areas.map(({ name, area }) =>
      h('div', { class: 'permission' }, field(name, area, hints.get(name)), quickAdds(area), hintsBelow(area, check)),
    ),
    failures,
    h(
      'div',
      { class: 'actions' },
      h('button', { type: 'submit', class: 'primary', 'data-key': 'save' }, 'Save permissions'),
    ),
  );
}

/** @param {readonly string[]} principals */
function principalsArea(principals) {
  const rows = String(Math.max(principals.length + 1, 2));
  const area = h('textarea', { rows, spellcheck: 'false', autocomplete: 'off' });
  area.value = principals.join('\n');
  return area;
}

/** @param {HTMLTextAreaElement} area */
function quickAdds(area) {
  const add = (/** @type {string} */ principal) => {
    area.value = [...new Set([...linesOf(area.value), principal])].join('\n');
    area.dispatchEvent(new Event('change'));
    area.focus();
  };
  return h(
    'div',
    { class: 'quick' },
    [...wellKnown].map(([principal, label]) => button(label, () => add(principal), { class: 'small' })),
  );
}

/**
 * Creates hints about the principals in a field, updated when the field loses the focus.
 *
 * @param {HTMLTextAreaElement} area
 * @param {(principal: string) => Promise<string | undefined>} check
 */
function hintsBelow(area, check) {
  const { element, show } = principalHints(check);
  const renew = () => void show(linesOf(area.value));
  area.addEventListener('change', renew);
  renew();
  return element;
}

/** @param {string} text @returns {readonly string[]} */
function linesOf(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
