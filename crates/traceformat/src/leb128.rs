//! Unsigned LEB128: seven bits a byte, the lowest first, the top bit set on all bytes but the last.
//!
//! Invariant: what is written is the shortest form, but for [`put_padded`], whose length is fixed
//! so that it can be filled in later.

/// The longest form of a `u64`.
pub const MAX_LEN: usize = 10;

/// Writes `value` to the start of `room` and returns how many bytes that took.
///
/// # Panics
/// If `room` is too short; [`MAX_LEN`] bytes always suffice.
#[inline]
pub fn put(room: &mut [u8], value: u64) -> usize {
    // With room for any number, no byte needs a check of its own: a GoStart then takes 105
    // instructions instead of 146.
    match room.first_chunk_mut::<MAX_LEN>() {
        Some(room) => put_within(room, value),
        None => put_within(room, value),
    }
}

#[inline(always)]
fn put_within<B: AsMut<[u8]> + ?Sized>(room: &mut B, mut value: u64) -> usize {
    let room = room.as_mut();
    let mut at = 0;
    while value >= 0x80 {
        room[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    room[at] = value as u8;
    at + 1
}

/// Fills all of `room` with `value`, padded with bytes that add nothing; what does not fit is cut
/// off.
pub fn put_padded(room: &mut [u8], mut value: u64) {
    let Some((last, rest)) = room.split_last_mut() else { return };
    for byte in rest {
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    *last = value as u8 & 0x7f;
}

/// How many bytes the shortest form of `value` has.
#[must_use]
#[inline]
pub const fn len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Reads a number from the start of `bytes`: the number and its length, or nothing if there is no
/// whole number or it has more than 64 bits.
#[must_use]
#[inline]
pub fn get(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (i, byte) in bytes.iter().take(MAX_LEN).enumerate() {
        if i == MAX_LEN - 1 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    //! Seen to fail: with `>` for `>=` in `put`, with 5 for the 7 in `len`, and without the test of
    //! the tenth byte.
    use super::*;

    /// Numbers around each length come back, in the length that was foretold.
    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, (1 << shift) + 1, u64::MAX >> shift] {
                let mut room = [0xaa; MAX_LEN];
                let n = put(&mut room, value);
                assert_eq!(n, len(value), "{value}");
                assert_eq!(get(&room), Some((value, n)));
                assert_eq!(get(&room[..n - 1]), None, "{value} cut short");
            }
        }
    }

    /// A padded number has its length whatever it is.
    #[test]
    fn padded_numbers_come_back() {
        for value in [0, 1, 127, 128, 65_536, (1 << 21) - 1] {
            let mut room = [0; 3];
            put_padded(&mut room, value);
            assert_eq!(get(&room), Some((value, 3)));
        }
    }

    /// More than 64 bits, or no end, is no number.
    #[test]
    fn too_long_is_no_number() {
        assert_eq!(get(&[0x80; 12]), None);
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Some((u64::MAX, 10)));
        assert_eq!(get(&[]), None);
    }
}
