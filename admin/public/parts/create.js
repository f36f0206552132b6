// The form for a new object: an id, or none to let the service generate one, and attributes.
import { field, form, h } from '../dom.js';
import { attempts } from '../context.js';
import { displayText, faultOfObject, memberText } from '../json-text.js';
import { below, hashOf, listPathOf, pathOf } from '../places.js';
import { jsonArea } from './editor.js';

/**
 * A form that creates objects of a kind below the current object. It is collapsed at first.
 *
 * @param {import('../context.js').Context} context
 * @param {import('../places.js').Kind} kind
 * @returns {HTMLElement}
 */
export function createForm(context, kind) {
  const { api, route } = context;
  const id = h('input', { autocomplete: 'off', spellcheck: 'false', pattern: '[A-Za-z0-9][A-Za-z0-9_\\-]*' });
  const area = jsonArea(kind.template);
  const { element: failures, attempt } = attempts();
  const create = () =>
    attempt(async () => {
      const fault = faultOfObject(area.value);
      if (fault !== undefined) throw new Error(fault);
      const body = `{"data":${area.value}}`;
      const path = id.value === '' ? listPathOf(route.place, kind) : pathOf(below(route.place, kind, id.value));
      const method = id.value === '' ? 'POST' : 'PUT';
      // Never overwrites an existing object.
      const headers = { 'If-None-Match': '*' };
      const { text, status } = await api.request(method, path, {
        body,
        allowed: [412],
        ...(id.value === '' ? {} : { headers }),
      });
      if (status === 412) throw new Error(`A ${kind.name} with this id already exists.`);
      context.say(`The ${kind.name} is created.`);
      const made = displayText(memberText(memberText(text, 'data') ?? '{}', 'id') ?? '""');
      location.hash = hashOf(below(route.place, kind, made));
    });
  return h(
    'details',
    { class: 'create' },
    h('summary', {}, `New ${kind.name}`),
    form(
      create,
      {},
      field('Id', id, 'Letters, digits, - and _. If empty, the service generates an id.'),
      field('Attributes (JSON)', area),
      failures,
      h('div', { class: 'actions' }, h('button', { type: 'submit', class: 'primary' }, `Create ${kind.name}`)),
    ),
  );
}
