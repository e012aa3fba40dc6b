/** What requests that no route takes are counted under. No route has that name. */
export const noRoute = 'none';
