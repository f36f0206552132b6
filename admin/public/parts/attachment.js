// The file of a record, with buttons to download, replace and delete it.
import { button, field, form, h } from '../dom.js';
import { attempts } from '../context.js';
import { serviceUrl } from '../api.js';
import { memberText } from '../json-text.js';
import { pathOf } from '../places.js';
import { ask } from './dialog.js';
import { formatSize } from './format.js';

/** @typedef {import('../context.js').Context} Context */

/**
 * @param {Context} context
 * @param {import('../objects.js').StoredObject} object
 * @returns {HTMLElement}
 */
export function attachmentPanel(context, object) {
  const path = `${pathOf(context.route.place)}/attachment`;
  const headers = { 'If-Match': object.etag };
  const file = h('input', { type: 'file', required: true });
  const { element: failures, attempt } = attempts();
  const known = readAttachment(object.data);
  const upload = () =>
    attempt(async () => {
      const chosen = file.files?.[0];
      if (chosen === undefined) return;
      const body = new FormData();
      body.append('attachment', chosen, chosen.name);
      await context.api.request('POST', path, { body, headers });
      context.say('The file is stored.');
      context.reload();
    });
  const remove = () =>
    attempt(async () => {
      const question = {
        title: 'Delete the file?',
        text: 'The record is kept.',
        yes: 'Delete the file',
        no: 'Keep it',
      };
      if (!(await ask(question))) return;
      await context.api.request('DELETE', path, { headers });
      context.say('The file is deleted.');
      context.reload();
    });
  return h(
    'div',
    {},
    known === undefined
      ? h('p', { class: 'empty' }, 'This record has no file.')
      : h(
          'p',
          {},
          fileLink(context, known, attempt),
          ` ${known.mimetype}, ${formatSize(known.size)} `,
          button('Delete the file', remove, { class: 'danger small' }),
        ),
    known === undefined ? undefined : preview(context, path, known, attempt),
    form(
      upload,
      { class: 'row' },
      field(known === undefined ? 'Choose a file' : 'Choose a replacement file', file),
      h('button', { type: 'submit', class: 'primary' }, 'Upload'),
    ),
    failures,
  );
}

/**
 * Creates a plain link to a file on another host, or a button that downloads a file of the service with the user's
 * credentials.
 *
 * @param {Context} context
 * @param {{ filename: string, location: string }} known
 * @param {(run: () => unknown) => Promise<void>} attempt
 */
function fileLink({ api }, { filename, location: place }, attempt) {
  const url = new URL(place, serviceUrl);
  if (!url.href.startsWith(serviceUrl)) {
    const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
    return h('a', isWeb ? { href: url.href, target: '_blank', rel: 'noopener noreferrer' } : {}, filename);
  }
  return button(`Download ${filename}`, () =>
    attempt(async () => {
      const address = URL.createObjectURL(await api.download(url.href));
      h('a', { href: address, download: filename }).click();
      URL.revokeObjectURL(address);
    }),
  );
}

const shownTypes = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;

/**
 * Creates the image and a link to it. Browsers send no credentials for either, so this requests a temporary address that needs
 * none. Anonymous users see public images.
 *
 * @param {Context} context
 * @param {string} path of the attachment
 * @param {{ filename: string, location: string, mimetype: string }} known
 * @param {(run: () => unknown) => Promise<void>} attempt
 */
function preview({ api, service }, path, { filename, location: place, mimetype }, attempt) {
  const element = h('div', { class: 'preview' });
  if (!shownTypes.test(mimetype)) return element;
  void attempt(async () => {
    let address = place;
    if (service.userId !== undefined) {
      const { status, text } = await api.request('GET', `${path}/url`, { allowed: [404] });
      // Signed addresses are off, or another server provides the files.
      if (status === 404) return;
      address = /** @type {{ readonly url: string }} */ (JSON.parse(text)).url;
    }
    const { href } = new URL(address, serviceUrl);
    if (!href.startsWith(serviceUrl)) return;
    const image = h('img', { src: href, alt: `Preview of ${filename}` });
    element.replaceChildren(h('a', { href, target: '_blank', rel: 'noopener noreferrer' }, image));
  });
  return element;
}

/** @param {string} data */
function readAttachment(data) {
  const value = /** @type {Record<string, unknown> | null} */ (JSON.parse(memberText(data, 'attachment') ?? 'null'));
  if (typeof value?.['location'] !== 'string' || !URL.canParse(value['location'], serviceUrl)) return undefined;
  return {
    filename: typeof value['filename'] === 'string' ? value['filename'] : 'file',
    location: value['location'],
    mimetype: typeof value['mimetype'] === 'string' ? value['mimetype'] : '',
    size: typeof value['size'] === 'number' ? value['size'] : 0,
  };
}
