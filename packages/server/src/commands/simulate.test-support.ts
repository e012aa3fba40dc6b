/** A small scenario whose claims hold. */
export const edge = `name: The edge of a window
about: Ten calls on each side of a boundary, and ten are allowed.
duration: 2s
traffic:
  - { shape: burst, count: 10, at: 999ms }
  - { shape: burst, count: 10, at: 1s }
compare:
  - { algorithm: fixed-window, limit: 10, window: 1s }
  - { algorithm: sliding-log, limit: 10, window: 1s }
expect:
  - fixed-window.worstWindow == 20
  - sliding-log.worstWindow == 10
`;
