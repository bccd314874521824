package dax

import "unicode"

// foreignLineEnd tells of the characters that only some readers take for a line
// end.
func foreignLineEnd(r rune) bool { return r == 0x85 || r == 0x2028 || r == 0x2029 }

// foreignBlank tells of the blanks beyond ASCII that every public lexer skips.
func foreignBlank(r rune) bool {
	switch {
	case r == 0xA0, r == 0x1680, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	case 0x2000 <= r && r <= 0x200A:
		return r != 0x2007
	}
	return false
}

// bidirectional tells of the characters that reorder text on a screen.
func bidirectional(r rune) bool {
	return r == 0x061C || r == 0x200E || r == 0x200F || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069
}

// unseen tells of the characters that show nothing, although some of them count
// as letters or marks.
func unseen(r rune) bool {
	if r < 0x80 {
		return false
	}
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x180E, r == 0x2007:
		return true
	}
	return unicode.Is(unicode.Co, r) || 0xE0000 <= r && r <= 0xE0FFF
}
