// Keeps the files of the application, so that the page loads without a network. Data is none of its business.

declare const self: ServiceWorkerGlobalScope;

/** The build replaces this text with the names of its files, whose hashes change with their contents. */
const files = '__FILES__' as unknown as readonly string[];
const page = 'index.html';
const cacheName = `todo ${files.join(' ')}`;

self.addEventListener('install', (event) => {
  const keep = async (): Promise<void> => {
    const cache = await caches.open(cacheName);
    await cache.addAll(files.map((name) => new Request(name, { cache: 'reload' })));
    await self.skipWaiting();
  };
  event.waitUntil(keep());
});

self.addEventListener('activate', (event) => {
  const removeOldFiles = async (): Promise<void> => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name !== cacheName).map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(removeOldFiles());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin || pathname.startsWith('/v1/')) return;
  const respond = async (): Promise<Response> => {
    const cache = await caches.open(cacheName);
    // Servers vary files by `Origin`, which some requests of a page have and others do not.
    const kept = await cache.match(request.mode === 'navigate' ? page : request, { ignoreVary: true });
    return kept ?? fetch(request);
  };
  event.respondWith(respond());
});
